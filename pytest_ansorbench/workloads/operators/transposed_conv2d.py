"""Transposed conv2d, the upsampling layer of generative models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.convolution import Square
from pytest_ansorbench.workloads.operators.shape import BadShape
from pytest_ansorbench.workloads.operators.typed import Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class TransposedConv2d(Square, Typed):
    """Every input element adds a scaled kernel to the output: NHWC, HWIO, NHWC.

    FLOP: two for every input element, tap and output channel. Contributions that `padding`
    crops count; the zeros that an implementation may put between input elements do not,
    so a program that multiplies by them looks slower, as it should.

    Attributes:
        batch: Images.
        height: Rows of the input.
        width: Columns of the input.
        in_channels: Channels of the input.
        out_channels: Channels of the output.
        kernel: Taps along each spatial axis.
        stride: Output elements from one input element's kernel to the next one's.
        padding: Output elements cropped from each side; less than `kernel`.
    """

    batch: int
    height: int
    width: int
    in_channels: int
    out_channels: int
    kernel: int
    stride: int = 1
    padding: int = 0

    form: ClassVar[str] = (
        "transposed-conv2d-n{batch}-h{height}-w{width}"
        "-ci{in_channels}-co{out_channels}-k{kernel}-s{stride}-p{padding}"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.padding >= self.kernel:
            raise BadShape("padding", self.padding, f"less than kernel {self.kernel}", 0)
        if min(self.output_shape) < 1:
            shortest = min(self.height, self.width)
            largest = ((shortest - 1) * self.stride + self.kernel - 1) // 2
            expected = f"at most {largest}, so that some output is left"
            raise BadShape("padding", self.padding, expected, largest)

    @property
    def flops(self) -> int:
        return 2 * math.prod(self.input_shapes[0]) * self.kernel**2 * self.out_channels

    @property
    def reduction_length(self) -> int:
        """Taps that reach one output element along each axis, times input channels."""
        return (-(-self.kernel // self.stride)) ** 2 * self.in_channels

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (
            (self.batch, self.height, self.width, self.in_channels),
            (self.kernel, self.kernel, self.in_channels, self.out_channels),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        height, width = (
            (extent - 1) * self.stride + self.kernel - 2 * self.padding
            for extent in (self.height, self.width)
        )
        return (self.batch, height, width, self.out_channels)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        """A convolution with the flipped kernel over the input spread out by `stride`.

        The spread-out input is not a stage of its own: with the condition inside the
        reduction, unrolling a tap makes it constant and its multiplications by zero go away.
        """
        from tvm import te, tirx, topi

        data, weight = inputs
        last = self.kernel - 1
        lead = last - self.padding  # outputs by which the first window precedes the input
        before, after = -(-lead // self.stride), lead // self.stride
        offset = before * self.stride - lead
        padded = topi.nn.pad(data, [0, before, before, 0], [0, after, after, 0], name="padded")
        rh = te.reduce_axis((0, self.kernel), name="rh")
        rw = te.reduce_axis((0, self.kernel), name="rw")
        rc = te.reduce_axis((0, self.in_channels), name="rc")

        def element(n: Any, h: Any, w: Any, co: Any) -> Any:
            row, column = h + rh + offset, w + rw + offset
            value = te.if_then_else(
                te.all(
                    te.indexmod(row, self.stride).equal(0),
                    te.indexmod(column, self.stride).equal(0),
                ),
                padded(n, te.indexdiv(row, self.stride), te.indexdiv(column, self.stride), rc),
                tirx.const(0, data.dtype),
            )
            product = self.product(value, weight(last - rh, last - rw, rc, co))
            return te.sum(product, axis=[rh, rw, rc])

        return te.compute(self.output_shape, element, name="transposed_conv2d")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scatter: for every tap, add the whole input times its weights; crop at the end."""
        data, weight = inputs
        crop, stride = self.padding, self.stride
        batch, height, width, channels = self.output_shape
        full = np.zeros((batch, height + 2 * crop, width + 2 * crop, channels))
        rows = (self.height - 1) * stride + 1
        columns = (self.width - 1) * stride + 1
        for i, j in np.ndindex(self.kernel, self.kernel):
            full[:, i : i + rows : stride, j : j + columns : stride] += data @ weight[i, j]
        return full[:, crop : crop + height, crop : crop + width]


TRANSPOSED_CONV2D: Final = tuple(
    TransposedConv2d.square(size, ci, co, 4, stride=2, padding=1)
    for size, ci, co in (
        # DCGAN's generator of 64x64 images at half the paper's width, as in Ansor's T2D
        # (https://arxiv.org/abs/1511.06434, figure 1): its four upsampling layers.
        (4, 512, 256),
        (8, 256, 128),
        (16, 128, 64),
        (32, 64, 3),
    )
)
