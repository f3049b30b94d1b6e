"""Libraries' kernels compute what the operators are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pytest_ansorbench.workloads import (
    BatchMatmul,
    CapsuleConv2d,
    Conv1d,
    Conv2d,
    Conv2dBnRelu,
    Conv3d,
    DepthwiseConv2d,
    DilatedConv2d,
    GroupedConv2d,
    MatrixNorm,
    Operator,
    Softmax,
    TransposeBatchMatmul,
    TransposedConv2d,
)
from pytest_ansorbench.yardsticks import numpy_kernels, torch_kernels
from pytest_ansorbench.yardsticks.reference_kernels import NoKernel

PLANE = {"batch": 1, "height": 9, "width": 7, "kernel": 3, "stride": 2, "padding": 1}
CHANNELS = {"in_channels": 4, "out_channels": 6}
EVERYWHERE = [
    BatchMatmul(batch=1, m=3, n=5, k=4),
    BatchMatmul(batch=2, m=3, n=5, k=4),
    TransposeBatchMatmul(batch=2, length=5, heads=3, size=4),
    Softmax(m=5, n=7),
    MatrixNorm(batch=3, m=5, n=4),
    Conv1d(batch=2, length=11, kernel=3, stride=2, padding=1, **CHANNELS),
    Conv2d(**PLANE, **CHANNELS),
    Conv3d(depth=5, **PLANE, **CHANNELS),
    DilatedConv2d(dilation=2, **PLANE, **CHANNELS),
]
IN_TORCH = [
    GroupedConv2d(groups=2, **PLANE, **CHANNELS),
    Conv2dBnRelu(**PLANE, **CHANNELS),
    DepthwiseConv2d(channels=6, **PLANE),
    TransposedConv2d(**PLANE, **CHANNELS),
]
CAPSULE = CapsuleConv2d(capsule=2, **PLANE, **CHANNELS)


@pytest.mark.parametrize("operator", [*EVERYWHERE, *IN_TORCH], ids=str)
def test_torch(operator: Operator) -> None:
    agrees(operator, torch_kernels.kernel(operator, 1))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("operator", [EVERYWHERE[0], *IN_TORCH], ids=str)
def test_torch_in_other_types(operator: Operator, dtype: str) -> None:
    typed = replace(operator, dtype=dtype)
    wide = np.float64 if dtype == "float64" else np.float32
    agrees(typed, torch_kernels.kernel(typed, 1), wide)


def test_numpy_in_64_bits() -> None:
    for operator in (EVERYWHERE[0], EVERYWHERE[6]):
        typed = replace(operator, dtype="float64")
        agrees(typed, numpy_kernels.kernel(typed, 1), np.float64)


@pytest.mark.parametrize(
    ("library", "dtype", "told"),
    [
        (torch_kernels, "int8", "torch has no kernel of BatchMatmul in int8"),
        (torch_kernels, "uint8", r"torch has no kernel of BatchMatmul in uint8 \* int8"),
        (numpy_kernels, "int8", "numpy has no kernel of BatchMatmul in int8"),
        (numpy_kernels, "bfloat16", "numpy has no kernel of BatchMatmul in bfloat16"),
    ],
)
def test_types_that_a_library_lacks_are_named(library, dtype: str, told: str) -> None:
    with pytest.raises(NoKernel, match=f"^{told}$"):
        library.kernel(replace(EVERYWHERE[0], dtype=dtype), 1)


@pytest.mark.parametrize("operator", EVERYWHERE, ids=str)
def test_numpy(operator: Operator) -> None:
    agrees(operator, numpy_kernels.kernel(operator, 1))


def agrees(operator, kernel, dtype=np.float32) -> None:
    check = operator.check()
    output = kernel.output(kernel.call())
    assert output.dtype == dtype
    np.testing.assert_allclose(output, check.expected, check.rtol, check.atol)


@pytest.mark.parametrize("library", [torch_kernels, numpy_kernels])
def test_what_a_library_lacks_is_named(library) -> None:
    with pytest.raises(NoKernel, match="has no kernel of CapsuleConv2d"):
        library.kernel(CAPSULE, 1)


@pytest.mark.parametrize("operator", IN_TORCH, ids=str)
def test_nobody_would_do_these_in_numpy(operator: Operator) -> None:
    with pytest.raises(NoKernel, match=f"numpy has no kernel of {type(operator).__name__}"):
        numpy_kernels.kernel(operator, 1)
