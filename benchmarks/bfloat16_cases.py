"""BERT base's dense layers in bfloat16, as a bench: what a library gains by its instructions.

    python -m pytest --ansor-bench benchmarks/bfloat16_cases.py --ansor-strategy draft \
        --ansor-trials 128 --ansor-repeats 1 --ansor-reference-kernels torch

MetaSchedule has no intrinsic for bfloat16 on x86: it multiplies in float32. PyTorch's oneDNN has
AVX-512's and AMX's.
"""

import pytest

from pytest_ansorbench import workloads


@pytest.mark.parametrize("n, k", [(768, 768), (3072, 768), (768, 3072)])
def test_dense(ansor_bench, n, k):
    """Nothing is judged."""
    ansor_bench(workloads.Dense(m=384, n=n, k=k, dtype="bfloat16"))
