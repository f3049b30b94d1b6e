"""Small operators, one of each family, with every field away from its default but its types."""

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
