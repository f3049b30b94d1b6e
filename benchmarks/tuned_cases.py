"""The networks of `tuned.py` as `tune` finds them in a file, for `draft.py --tests`."""

import pytest
from tuned import NETWORKS, as_tuned

from pytest_ansorbench import workloads


@pytest.mark.filterwarnings("ignore:No complete tensor")  # PyTorch's, as it saves weights
@pytest.mark.parametrize("case", [*map(workloads.get, NETWORKS.split(","))], ids=str)
def test_tuned(ansor_bench, case, tmp_path):
    """Nothing is promised."""
    ansor_bench(as_tuned(case.id, tmp_path))
