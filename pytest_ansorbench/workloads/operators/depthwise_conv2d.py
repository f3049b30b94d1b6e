"""Depthwise conv2d, as in MobileNet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.workloads.operators.shape import require_positive
from pytest_ansorbench.workloads.operators.window import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv2d(Operator):
    """A kernel of its own for every channel: input NHWC, kernel HWC, output NHWC.

    FLOP: two for every tap and output element, padding included.

    Attributes:
        batch: Images.
        height: Rows of the input.
        width: Columns of the input.
        channels: Channels of input and output.
        kernel: Taps along each spatial axis.
        stride: Elements from one window to the next.
        padding: Zeros before and after each spatial axis.
    """

    batch: int
    height: int
    width: int
    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        require_positive(batch=self.batch, channels=self.channels)
        self.window.require_fit({"height": self.height, "width": self.width})

    @property
    def window(self) -> Window:
        """How the kernel slides."""
        return Window(self.kernel, self.stride, self.padding)

    @property
    def id(self) -> str:
        """E.g. `depthwise-conv2d-n1-h112-w112-c32-k3-s1-p1`."""
        return (
            f"depthwise-conv2d-n{self.batch}-h{self.height}-w{self.width}-c{self.channels}"
            f"-k{self.kernel}-s{self.stride}-p{self.padding}"
        )

    @property
    def flops(self) -> int:
        """Two for every product of a tap and a weight."""
        return 2 * math.prod(self.output_shape) * self.reduction_length

    @property
    def reduction_length(self) -> int:
        """Taps."""
        return self.kernel * self.kernel

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the data and the weight."""
        return (
            (self.batch, self.height, self.width, self.channels),
            (self.kernel, self.kernel, self.channels),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Batch, height, width, channels."""
        height = self.window.output_extent(self.height)
        width = self.window.output_extent(self.width)
        return (self.batch, height, width, self.channels)

    def expression(self, *inputs: te.Tensor) -> te.Tensor:
        """Pad, then one reduction over taps."""
        from tvm import te

        data, weight = inputs
        window = self.window
        padded = window.pad(data, axes=(1, 2))
        rh = te.reduce_axis((0, self.kernel), name="rh")
        rw = te.reduce_axis((0, self.kernel), name="rw")
        return te.compute(
            self.output_shape,
            lambda n, h, w, c: te.sum(
                padded(n, *window.positions((h, w), (rh, rw)), c) * weight(rh, rw, c),
                axis=[rh, rw],
            ),
            name="depthwise_conv2d",
        )

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """One elementwise product for every tap, summed in float64."""
        data, weight = (array.astype(np.float64) for array in inputs)
        output = np.zeros(self.output_shape)
        for tap, view in self.window.views(data, axes=(1, 2)):
            output += view * weight[tap]
        return output.astype(np.float32)


DEPTHWISE_CONV2D: Final = tuple(
    DepthwiseConv2d(
        batch=1,
        height=size,
        width=size,
        channels=channels,
        kernel=3,
        stride=stride,
        padding=1,
    )
    for size, channels, stride in (
        # MobileNet (https://arxiv.org/abs/1704.04861, table 1), in order: the first one,
        (112, 32, 1),
        # the second, which halves the image,
        (112, 64, 2),
        # the one that is repeated five times,
        (14, 512, 1),
        # and the last.
        (7, 1024, 1),
    )
)
