"""conv1d at shapes of Ansor's evaluation and of Whisper, with the paper's budget and limits."""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=1000, max_search_ratio=0.75, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.CONV1D, ids=str)
def test_conv1d(ansor_bench, case):
    """At least a quarter of the search time saved, at the same throughput."""
    ansor_bench(case)
