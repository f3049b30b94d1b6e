"""Workloads to train and validate the rule model on: shapes that no shipped case has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.workloads import (
    BatchMatmul,
    Conv2d,
    Conv2dBnRelu,
    Operator,
    TransposeBatchMatmul,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class AddReluScale(Operator):
    """An element-wise chain, `relu(left + right) * scale`, as between a network's layers.

    FLOP: three for each element.

    Attributes:
        rows: Rows of the matrices.
        columns: Columns, and length of the scale.
    """

    rows: int
    columns: int

    @property
    def id(self) -> str:
        """E.g. `add-relu-scale-m512-n768`."""
        return f"add-relu-scale-m{self.rows}-n{self.columns}"

    @property
    def flops(self) -> int:
        """Three for each element."""
        return 3 * self.rows * self.columns

    @property
    def reduction_length(self) -> int:
        """Nothing is summed."""
        return 1

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of both matrices and the scale."""
        return ((self.rows, self.columns), (self.rows, self.columns), (self.columns,))

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        """Three stages, each element on its own."""
        from tvm import te, tirx

        left, right, scale = inputs
        shape = (self.rows, self.columns)
        total = te.compute(shape, lambda i, j: left[i, j] + right[i, j], name="total")
        zero = tirx.const(0, "float32")
        positive = te.compute(shape, lambda i, j: te.max(total[i, j], zero), name="positive")
        return te.compute(shape, lambda i, j: positive[i, j] * scale[j], name="scaled")

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The same in NumPy."""
        left, right, scale = inputs
        scaled: NDArray[np.float32] = np.maximum(left + right, 0.0) * scale
        return scaled


def _convolution(
    kind: type[Conv2d], size: int, ci: int, co: int, kernel: int, stride: int = 1
) -> Operator:
    return kind(
        batch=1,
        height=size,
        width=size,
        in_channels=ci,
        out_channels=co,
        kernel=kernel,
        stride=stride,
        padding=kernel // 2,
    )


TRAINING: Final[tuple[Operator, ...]] = (
    # ResNet-18 and -34 (https://arxiv.org/abs/1512.03385, table 1): layers that change size,
    # and 1x1 layers of the bottlenecks at half resolution,
    _convolution(Conv2dBnRelu, 28, 64, 128, 3, 2),
    _convolution(Conv2d, 14, 128, 256, 3, 2),
    _convolution(Conv2d, 28, 128, 512, 1),
    _convolution(Conv2dBnRelu, 14, 512, 128, 1),
    # VGG-type (https://arxiv.org/abs/1409.1556): 3x3 layers at other sizes and widths,
    _convolution(Conv2dBnRelu, 32, 64, 64, 3),
    _convolution(Conv2d, 16, 128, 128, 3),
    _convolution(Conv2d, 20, 96, 192, 3),
    # dense layers of small models,
    BatchMatmul(batch=1, m=64, n=512, k=256),
    BatchMatmul(batch=1, m=256, n=256, k=384),
    BatchMatmul(batch=1, m=16, n=1024, k=512),
    # attention of 8 heads,
    BatchMatmul(batch=8, m=96, n=96, k=32),
    TransposeBatchMatmul(batch=1, length=96, heads=8, size=32),
    # element-wise chains.
    AddReluScale(rows=512, columns=768),
    AddReluScale(rows=49, columns=2048),
)
"""Workloads that the model learns from."""

HELD_OUT: Final[tuple[Operator, ...]] = (
    _convolution(Conv2d, 28, 96, 96, 3),
    _convolution(Conv2dBnRelu, 10, 256, 256, 1),
    BatchMatmul(batch=1, m=192, n=320, k=256),
    BatchMatmul(batch=4, m=80, n=80, k=64),
    AddReluScale(rows=196, columns=1024),
)
"""Workloads that it is judged by."""
