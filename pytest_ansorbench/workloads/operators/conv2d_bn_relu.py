"""conv2d, batch normalization and ReLU: the block of most image models, fused into one kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.conv2d import Conv2d
from pytest_ansorbench.workloads.operators.typed import FLOATS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class Conv2dBnRelu(Conv2d):
    """`max(conv2d(data, weight) * scale + shift, 0)`.

    At inference batch normalization is a scale and a shift for each channel, computed ahead
    from its four parameters. FLOP: those of `Conv2d`, and three for each output element. All of it
    is computed in the accumulator; of whole numbers there is none, for want of a requantization.
    """

    family: ClassVar[str] = "conv2d-bn-relu"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = FLOATS

    @property
    def flops(self) -> int:
        return super().flops + 3 * math.prod(self.output_shape)

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (*super().input_shapes, (self.out_channels,), (self.out_channels,))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te, topi

        data, weight, scale, shift = inputs
        conv = super().sums(data, weight)
        normalized = te.compute(
            self.output_shape,
            lambda n, h, w, c: (
                self.product(conv(n, h, w, c), scale(c)) + shift(c).astype(self.sum_dtype)
            ),
            name="batch_norm",
        )
        return topi.nn.relu(normalized)

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight, scale, shift = inputs
        normalized = super().exact(data, weight) * scale + shift
        return np.maximum(normalized, 0.0)


CONV2D_BN_RELU: Final = tuple(
    Conv2dBnRelu.square(*shape)
    for shape in (
        # Ansor's ConvLayer: conv1 of ResNet-18,
        (224, 3, 64, 7, 2, 3),
        # conv3_1, which halves the image,
        (56, 64, 128, 3, 2, 1),
        # the shortcut beside conv4_1,
        (28, 128, 256, 1, 2, 0),
        # and conv5_x.
        (7, 512, 512, 3, 1, 1),
    )
)
