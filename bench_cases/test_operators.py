"""The operators of Ansor's paper with its budget; on a small machine: `--ansor-trials 64`.

The paper promises S 0.75 over conv1d, conv2d and batch matmul. A single case tells S too seldom,
so it is asked of all that are selected: `--ansor-max-suite-search-ratio 0.75`.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=1000, max_early_search_ratio=1.0, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.OPERATORS, ids=str)
def test_operator(ansor_bench, case):
    """A first good kernel no later, and kernels no slower in the end."""
    ansor_bench(case)
