"""Operators of ViT-B/16, ConvNeXt-T and MobileNet v2, norms of diffusion models, and pooling.

At full size and batch 1, but for the diffusion model's norm, which has a quarter of its pixels.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=128, max_early_search_ratio=1.0, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.VISION, ids=str)
def test_vision(ansor_bench, case):
    """A first good kernel no later, and kernels no slower in the end."""
    ansor_bench(case)
