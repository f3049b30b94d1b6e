"""Operators of Llama-3.2-1B and Llama-3-8B, of a prompt and of decoding, and of mixtures.

Sizes are of two cores: Llama-3-8B is one of eight shards of tensor parallelism, vocabularies are an
eighth, a prompt is 32 tokens behind 224, and a mixture has 16 experts.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.ansor_bench(trials=128, max_early_search_ratio=1.0, min_throughput_ratio=0.98)
@pytest.mark.parametrize("case", workloads.LLM, ids=str)
def test_llm(ansor_bench, case):
    """A first good kernel no later, and kernels no slower in the end."""
    ansor_bench(case)
