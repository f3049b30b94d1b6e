"""Batch matmul at shapes of BERT and of Ansor's evaluation, with the paper's budget and limits."""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=1000, max_search_ratio=0.75, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.BATCH_MATMUL, ids=str)
def test_batch_matmul(ansor_bench, case):
    """At least a quarter of the search time saved, at the same throughput."""
    ansor_bench(case)
