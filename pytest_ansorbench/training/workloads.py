"""Workloads to train and validate models on: shapes that no shipped case has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.workloads import (
    ArgMax,
    Attention,
    AvgPool2d,
    BatchMatmul,
    BlockSparseDense,
    CapsuleConv2d,
    Conv1d,
    Conv2d,
    Conv2dBnRelu,
    Conv3d,
    Dense,
    DepthwiseConv2d,
    DilatedConv2d,
    GlobalAvgPool2d,
    GroupedConv2d,
    GroupNorm,
    LayerNorm,
    MatrixNorm,
    MaxPool2d,
    Moe,
    Operator,
    PackedConv2d,
    PackedDense,
    RmsNorm,
    Softmax,
    SwiGlu,
    TopK,
    TransposeBatchMatmul,
    TransposedConv2d,
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
        return f"add-relu-scale-m{self.rows}-n{self.columns}"

    @property
    def flops(self) -> int:
        return 3 * self.rows * self.columns

    @property
    def reduction_length(self) -> int:
        return 1

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.rows, self.columns), (self.rows, self.columns), (self.columns,))

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te, tirx

        left, right, scale = inputs
        shape = (self.rows, self.columns)
        total = te.compute(shape, lambda i, j: left[i, j] + right[i, j], name="total")
        zero = tirx.const(0, "float32")
        positive = te.compute(shape, lambda i, j: te.max(total[i, j], zero), name="positive")
        return te.compute(shape, lambda i, j: positive[i, j] * scale[j], name="scaled")

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        left, right, scale = inputs
        scaled: NDArray[np.float32] = np.maximum(left + right, 0.0) * scale
        return scaled


TRAINING: Final[tuple[Operator, ...]] = (
    # ResNet-18 and -34 (https://arxiv.org/abs/1512.03385, table 1): layers that change size,
    # and 1x1 layers of the bottlenecks at half resolution,
    Conv2dBnRelu.square(28, 64, 128, 3, 2, 1),
    Conv2d.square(14, 128, 256, 3, 2, 1),
    Conv2d.square(28, 128, 512, 1, 1, 0),
    Conv2dBnRelu.square(14, 512, 128, 1, 1, 0),
    # VGG-type (https://arxiv.org/abs/1409.1556): 3x3 layers at other sizes and widths,
    Conv2dBnRelu.square(32, 64, 64, 3, 1, 1),
    Conv2d.square(16, 128, 128, 3, 1, 1),
    Conv2d.square(20, 96, 192, 3, 1, 1),
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

# Workloads that it is judged by.
HELD_OUT: Final[tuple[Operator, ...]] = (
    Conv2d.square(28, 96, 96, 3, 1, 1),
    Conv2dBnRelu.square(10, 256, 256, 1, 1, 0),
    BatchMatmul(batch=1, m=192, n=320, k=256),
    BatchMatmul(batch=4, m=80, n=80, k=64),
    AddReluScale(rows=196, columns=1024),
)

# One to three shapes of each family of operators that is not among `TRAINING`.
OTHER_FAMILIES: Final[tuple[Operator, ...]] = (
    Conv1d(batch=1, length=192, in_channels=96, out_channels=160, kernel=3, stride=2, padding=1),
    Conv1d(batch=1, length=96, in_channels=192, out_channels=192, kernel=5, padding=2),
    Conv1d(batch=1, length=400, in_channels=160, out_channels=320, kernel=1),
    Conv3d(
        batch=1, depth=4, height=12, width=12, in_channels=96, out_channels=128, kernel=3, padding=1
    ),
    Conv3d(batch=1, depth=8, height=24, width=24, in_channels=48, out_channels=96, kernel=1),
    DepthwiseConv2d(batch=1, height=96, width=96, channels=48, kernel=3, padding=1),
    DepthwiseConv2d(batch=1, height=40, width=40, channels=160, kernel=3, stride=2, padding=1),
    DepthwiseConv2d(batch=1, height=10, width=10, channels=640, kernel=3, padding=1),
    DilatedConv2d.square(20, 128, 128, 3, dilation=2),
    GroupedConv2d.square(40, 96, 192, 3, padding=1, groups=4),
    GroupedConv2d.square(20, 320, 320, 3, padding=1, groups=32),
    TransposedConv2d.square(6, 384, 192, 4, 2, 1),
    TransposedConv2d.square(20, 96, 48, 4, 2, 1),
    CapsuleConv2d.square(12, 16, 24, 3, padding=1),
    MatrixNorm(batch=1, m=384, n=384),
    MatrixNorm(batch=6, m=320, n=320),
    Softmax(m=768, n=192),
    Softmax(m=640, n=640),
    TransposeBatchMatmul(batch=1, length=80, heads=10, size=48),
)

# Layers of today's models, which draft's experience is recorded of as well.
TODAY: Final[tuple[Operator, ...]] = (
    # Products: of a prompt and of one token, with what follows them;
    Dense(m=48, n=1280, k=640),
    Dense(m=1, n=1536, k=1024),
    Dense(m=112, n=1536, k=384, bias=True, activation="gelu"),
    SwiGlu(m=24, n=1408, k=512),
    SwiGlu(m=1, n=2560, k=1024),
    # with more weights than caches hold;
    Dense(m=8, n=3072, k=4608),
    BatchMatmul(batch=1, m=24, n=1792, k=6144),
    Dense(m=1, n=1792, k=6144),
    Dense(m=1, n=6144, k=1792),
    Dense(m=1, n=640, k=2560),
    Dense(m=1, n=20480, k=1280),
    SwiGlu(m=1, n=5632, k=1536),
    # of experts, and of the blocks that are left;
    Moe(blocks=6, rows=1, experts=12, n=640, k=1024),
    Moe(blocks=10, rows=12, experts=12, n=640, k=512),
    BlockSparseDense(m=96, n=1536, k=512, block=16, blocks=6),
    # of 8 bits, in plain layouts and in VNNI's.
    Dense(m=160, n=640, k=512, dtype="uint8"),
    Dense(m=1, n=2560, k=1024, dtype="int8"),
    Conv2d.square(20, 96, 128, 3, 1, 1, dtype="uint8"),
    PackedDense(m=160, n=640, k=512),
    PackedDense(m=64, n=1536, k=384),
    PackedConv2d.square(20, 96, 128, 3, padding=1),
    # Attention: a prompt, a token, an image.
    Attention(batch=1, heads=16, key_heads=4, queries=48, keys=192, size=64, causal=True),
    Attention(batch=1, heads=16, key_heads=4, queries=1, keys=320, size=64),
    Attention(batch=1, heads=8, key_heads=8, queries=144, keys=144, size=48),
    # Norms.
    RmsNorm(m=48, n=1536),
    RmsNorm(m=1, n=5120),
    LayerNorm(m=144, n=512),
    LayerNorm(m=1024, n=160),
    GroupNorm(batch=1, height=24, width=24, channels=192, groups=16),
    # Pooling, and choices.
    MaxPool2d(batch=1, height=56, width=56, channels=96, kernel=2, stride=2),
    AvgPool2d(batch=1, height=28, width=28, channels=160, kernel=3, padding=1),
    GlobalAvgPool2d(batch=1, height=8, width=8, channels=1280),
    ArgMax(m=4, n=24064),
    TopK(m=48, n=96, k=6),
)
