"""Depthwise conv2d, as in MobileNet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.convolution import Channelwise

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv2d(Channelwise):
    """A kernel of its own for every channel: input NHWC, kernel HWC, output NHWC."""

    family: ClassVar[str] = "depthwise-conv2d"

    @property
    def reduction_length(self) -> int:
        return self.kernel * self.kernel

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (*super().input_shapes, (*self.taps, self.channels))

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight = inputs
        window = self.window
        padded = window.pad(data, self.axes)
        taps = self.tap_axes()
        return te.compute(
            self.output_shape,
            lambda n, h, w, c: te.sum(
                self.product(padded(n, *window.positions((h, w), taps), c), weight(*taps, c)),
                axis=taps,
            ),
            name="depthwise_conv2d",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight = inputs
        output = np.zeros(self.output_shape)
        for tap, view in self.window.views(data, self.axes):
            output += view * weight[tap]
        return output


DEPTHWISE_CONV2D: Final = (
    # MobileNet (https://arxiv.org/abs/1704.04861, table 1), in order: the first one,
    DepthwiseConv2d(batch=1, height=112, width=112, channels=32, kernel=3, padding=1),
    # the second, which halves the image,
    DepthwiseConv2d(batch=1, height=112, width=112, channels=64, kernel=3, stride=2, padding=1),
    # the one that is repeated five times,
    DepthwiseConv2d(batch=1, height=14, width=14, channels=512, kernel=3, padding=1),
    # and the last.
    DepthwiseConv2d(batch=1, height=7, width=7, channels=1024, kernel=3, padding=1),
)
