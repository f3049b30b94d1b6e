"""Capsule conv2d, whose elements are small matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.convolution import Planar, Square

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class CapsuleConv2d(Square, Planar):
    """conv2d in which each product is one of two square matrices, the capsules' poses.

    Input NHWijC, kernel HWijIO, output NHWijC, with `i` and `j` the rows and columns of a pose.

    Attributes:
        in_channels: Capsules of the input.
        out_channels: Capsules of the output.
        capsule: Rows and columns of a pose.
    """

    in_channels: int
    out_channels: int
    capsule: int = 4

    family: ClassVar[str] = "capsule-conv2d"

    @property
    def shape_id(self) -> str:
        return f"{super().shape_id}-cap{self.capsule}"

    @property
    def reduction_length(self) -> int:
        return self.kernel * self.kernel * self.in_channels * self.capsule

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        pose = (self.capsule, self.capsule)
        return (
            (self.batch, self.height, self.width, *pose, self.in_channels),
            (*self.taps, *pose, self.in_channels, self.out_channels),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        pose = (self.capsule, self.capsule)
        return (self.batch, *self.output_extents, *pose, self.out_channels)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight = inputs
        window = self.window
        padded = window.pad(data, self.axes)
        taps = self.tap_axes()
        rk = te.reduce_axis((0, self.capsule), name="rk")
        rc = te.reduce_axis((0, self.in_channels), name="rc")
        return te.compute(
            self.output_shape,
            lambda n, h, w, i, j, co: te.sum(
                self.product(
                    padded(n, *window.positions((h, w), taps), i, rk, rc),
                    weight(*taps, rk, j, rc, co),
                ),
                axis=[*taps, rk, rc],
            ),
            name="capsule_conv2d",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """One matrix product for every tap, over inner index and channels as one axis."""
        data, weight = inputs
        output = np.zeros(self.output_shape)
        for tap, view in self.window.views(data, self.axes):
            values = view.reshape(*view.shape[:4], -1)  # n h w i, (k c)
            weights = weight[tap].transpose(0, 2, 1, 3)  # k c j o
            weights = weights.reshape(self.capsule * self.in_channels, -1)  # (k c), (j o)
            output += (values @ weights).reshape(self.output_shape)
        return output


CAPSULE_CONV2D: Final = tuple(
    CapsuleConv2d.square(size, ci, co, 3, stride, padding=1)
    for size, ci, co, stride in (
        # Matrix capsules with EM routing (https://openreview.net/forum?id=HJWLfGWRb), in the
        # shapes of Ansor's CAP: ConvCaps1 with 32 capsules,
        (16, 32, 32, 2),
        # ConvCaps2 with 32,
        (8, 32, 32, 1),
        # and both again in the smaller model, with 8 primary capsules and 16 after them.
        (16, 8, 16, 2),
        (8, 16, 16, 1),
    )
)
