"""The five workloads of REASONING COMPILER (https://arxiv.org/abs/2506.01374).

It gives one shape, of DeepSeek-R1's experts. The other four stand for layers of the models that it
names: Llama-3-8B's attention has 128 tokens, FLUX's attention 256 of 4608, FLUX's convolution
32 x 32 pixels, so that two cores compute them in milliseconds.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=600, max_early_search_ratio=1.0, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.REASONING_COMPILER, ids=str)
def test_reasoning_compiler(ansor_bench, case):
    """A first good kernel no later, and kernels no slower in the end."""
    ansor_bench(case)
