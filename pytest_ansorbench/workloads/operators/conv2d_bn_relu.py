"""conv2d, batch normalization and ReLU: the block of most image models, fused into one kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.conv2d import Conv2d

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class Conv2dBnRelu(Conv2d):
    """`max(conv2d(data, weight) * scale + shift, 0)`.

    At inference batch normalization is a scale and a shift for each channel, computed ahead
    from its four parameters. FLOP: those of `Conv2d`, and three for each output element.
    """

    family: ClassVar[str] = "conv2d-bn-relu"

    @property
    def flops(self) -> int:
        return super().flops + 3 * math.prod(self.output_shape)

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (*super().input_shapes, (self.out_channels,), (self.out_channels,))

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te, topi

        data, weight, scale, shift = inputs
        conv = super().expression(data, weight)
        normalized = te.compute(
            self.output_shape,
            lambda n, h, w, c: conv(n, h, w, c) * scale(c) + shift(c),
            name="batch_norm",
        )
        return topi.nn.relu(normalized)

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        data, weight, scale, shift = inputs
        normalized = super().reference(data, weight) * scale + shift
        return np.asarray(np.maximum(normalized, 0.0), dtype=np.float32)


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
