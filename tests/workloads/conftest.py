"""Small operators, one of each family, with every field away from its default but its types."""

import contextlib
from dataclasses import replace

import pytest

from pytest_ansorbench import workloads
from pytest_ansorbench.workloads.operators.typed import Typed

CONV = {"batch": 2, "in_channels": 4, "out_channels": 6, "kernel": 3, "stride": 2, "padding": 1}

SMALL = (
    workloads.Conv1d(length=9, **CONV),
    workloads.Conv2d(height=7, width=8, **CONV),
    workloads.BatchMatmul(batch=3, m=5, n=6, k=7),
    workloads.Conv3d(depth=4, height=7, width=5, **CONV),
    workloads.DepthwiseConv2d(
        batch=2, height=7, width=8, channels=5, kernel=3, stride=2, padding=1
    ),
    workloads.DilatedConv2d(height=9, width=8, dilation=2, **CONV),
    workloads.GroupedConv2d(height=7, width=8, groups=2, **CONV),
    workloads.TransposedConv2d(height=4, width=5, **CONV),
    workloads.CapsuleConv2d(height=5, width=6, capsule=3, **CONV),
    workloads.Conv2dBnRelu(height=7, width=8, **CONV),
    workloads.TransposeBatchMatmul(batch=2, length=5, heads=3, size=4),
    workloads.MatrixNorm(batch=3, m=5, n=7),
    workloads.Softmax(m=5, n=7),
)

#: The same of the layers of today's models.
LAYERS = (
    workloads.Dense(m=3, n=5, k=7, bias=True),
    workloads.Dense(m=4, n=5, k=7, bias=True, activation="gelu"),
    workloads.Dense(m=3, n=5, k=7, activation="silu"),
    workloads.SwiGlu(m=3, n=5, k=7),
    workloads.Attention(batch=2, heads=6, key_heads=3, queries=4, keys=7, size=5, causal=True),
    workloads.Attention(batch=2, heads=3, key_heads=1, queries=1, keys=6, size=4),
    workloads.Rope(batch=2, heads=3, length=5, size=6),
    workloads.RmsNorm(m=3, n=7),
    workloads.LayerNorm(m=3, n=7),
    workloads.GroupNorm(batch=2, height=3, width=4, channels=6, groups=2),
    workloads.Embedding(tokens=9, vocabulary=7, size=5),
    workloads.Moe(blocks=5, rows=2, experts=3, n=6, k=7),
    workloads.BlockSparseDense(m=3, n=8, k=12, block=4, blocks=2),
    workloads.MaxPool2d(batch=2, height=7, width=8, channels=5, kernel=3, stride=2, padding=1),
    workloads.AvgPool2d(batch=2, height=7, width=8, channels=5, kernel=3, stride=2, padding=1),
    workloads.GlobalAvgPool2d(batch=2, height=4, width=3, channels=5),
    workloads.ArgMax(m=5, n=9),
    workloads.TopK(m=5, n=9, k=3),
    workloads.PackedDense(m=3, n=32, k=8),
    workloads.PackedConv2d(
        batch=2,
        height=5,
        width=6,
        in_channels=32,
        out_channels=48,
        kernel=3,
        stride=2,
        padding=1,
    ),
)


def in_other_types(operator):
    """The operator in one type of 16 and one of 8 bits, where it has them."""
    for dtype in ("bfloat16", "uint8"):
        if dtype != operator.dtype:
            with contextlib.suppress(workloads.BadShape):
                yield replace(operator, dtype=dtype)


TYPED_LAYERS = tuple(
    typed
    for operator in LAYERS
    if isinstance(operator, Typed)
    for typed in in_other_types(operator)
)

#: Each family that has types in each other one.
TYPED = tuple(
    replace(operator, dtype=dtype)
    for operator in SMALL
    if isinstance(operator, Typed)
    for dtype in operator.accumulators
    if dtype != "float32"
)


@pytest.fixture(params=SMALL, ids=str)
def small(request):
    """Each of the small operators in turn."""
    return request.param


@pytest.fixture(params=TYPED, ids=str)
def typed(request):
    """Each of them in each type but float32."""
    return request.param
