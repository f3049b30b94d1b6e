r"""The workloads that the shipped model of `draft+transfer` is trained on, as a bench.

    python -m pytest --ansor-bench benchmarks/draft_training_cases.py -p draft_ablations \
        --ansor-strategy random-racing,draft --ansor-trials 96 --ansor-run-time 40s \
        --ansor-repeats 1 --ansor-final-samples 1 --ansor-max-early-search-ratio none \
        --ansor-min-throughput-ratio none --ansor-progress believed --ansor-storage recorded

with `benchmarks` on PYTHONPATH; with `--ansor-resume` as well it goes on after an interruption.
Random programs show the whole space, those of `draft` the part of it that matters. Then

    ansor-bench train-draft --from recorded -o pytest_ansorbench/models/draft.ubj

`docs/results/draft-samples` has what was recorded so, a file for each case.
"""

import pytest

from pytest_ansorbench.training import OTHER_FAMILIES, TODAY, TRAINING


@pytest.mark.parametrize("case", [*OTHER_FAMILIES, *TRAINING], ids=str)
def test_training(ansor_bench, case):
    """Nothing is judged: what counts is the journal."""
    ansor_bench(case)


@pytest.mark.parametrize("case", TODAY, ids=str)
def test_today(ansor_bench, case):
    """The same for layers of today's models."""
    ansor_bench(case)
