"""Products of unsigned and signed bytes: packed as VNNI reads them, plain, and those of floats.

BERT base's dense layers on 384 tokens and two convolutions of ResNet-50, at full size.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=256, max_early_search_ratio=1.0, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.QUANTIZED, ids=str)
def test_quantized(ansor_bench, case):
    """A first good kernel no later, and kernels no slower in the end."""
    ansor_bench(case)
