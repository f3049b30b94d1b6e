"""Networks, tuned task by task and judged end to end.

The paper gives its three networks 12,000, 15,000 and 20,000 trials without saying which is whose;
TVM recommends 800 trials a task, some 20,000 for ResNet-50. Budgets here go by the task, so that
each network gets what its size asks for. On a small machine: `--ansor-trials 16/task`.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials="800/task", max_early_search_ratio=1.0, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.NETWORKS, ids=str)
def test_network(ansor_bench, case):
    """A first good network no later, and no slower in the end."""
    ansor_bench(case)
