r"""The workloads that the shipped model of `draft+transfer` was trained on, as a bench.

    python -m pytest --ansor-bench benchmarks/draft_training_cases.py -p draft_ablations \
        --ansor-strategy random-racing,draft --ansor-trials 96 --ansor-repeats 1

with `benchmarks` on PYTHONPATH. Random programs show the whole space, those of `draft` the part
of it that matters.
"""

import pytest

from pytest_ansorbench.training import OTHER_FAMILIES, TRAINING


@pytest.mark.parametrize("case", [*OTHER_FAMILIES, *TRAINING], ids=str)
def test_training(ansor_bench, case):
    """Nothing is judged: what counts is the journal."""
    ansor_bench(case)
