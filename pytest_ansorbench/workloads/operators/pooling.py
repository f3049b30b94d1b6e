"""Pooling: windows of an image become their maximum or their mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import ml_dtypes
import numpy as np

from pytest_ansorbench.workloads.operators.convolution import Channelwise
from pytest_ansorbench.workloads.operators.shape import BadShape
from pytest_ansorbench.workloads.operators.typed import WIDE, Typed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True, kw_only=True)
class _Pool2d(Channelwise):
    """Pooling of an image. FLOP: one for each tap and output element."""

    accumulators: ClassVar[Mapping[str, Sequence[str]]] = WIDE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.padding >= self.kernel:  # a window of padding alone has no maximum
            raise BadShape("padding", self.padding, f"less than kernel {self.kernel}", 0)

    @property
    def flops(self) -> int:
        return math.prod(self.output_shape) * math.prod(self.taps)


@dataclass(frozen=True, kw_only=True)
class MaxPool2d(_Pool2d):
    """The maximum of each window of an image, NHWC, channel by channel; padding is none of it."""

    family: ClassVar[str] = "max-pool2d"

    @property
    def reduction_length(self) -> int:
        """A maximum is exact."""
        return 1

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        (data,) = inputs
        window, taps = self.window, self.tap_axes()
        least = float(ml_dtypes.finfo(np.dtype(self.dtype)).min)  # type: ignore[no-untyped-call]
        padded = window.pad(data, self.axes, least)
        return te.compute(
            self.output_shape,
            lambda n, h, w, c: te.max(
                padded(n, *window.positions((h, w), taps), c).astype(self.sum_dtype), axis=taps
            ),
            name="max_pool2d",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        (data,) = inputs
        output = np.full(self.output_shape, -np.inf)
        for _, view in self.window.views(data, self.axes, -np.inf):
            np.maximum(output, view, out=output)
        return output


@dataclass(frozen=True, kw_only=True)
class AvgPool2d(_Pool2d):
    """The mean of each window of an image, NHWC, channel by channel; padding counts as zeros."""

    family: ClassVar[str] = "avg-pool2d"

    @property
    def reduction_length(self) -> int:
        return math.prod(self.taps)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        (data,) = inputs
        window, taps = self.window, self.tap_axes()
        padded = window.pad(data, self.axes)
        total = te.compute(
            self.output_shape,
            lambda n, h, w, c: te.sum(
                padded(n, *window.positions((h, w), taps), c).astype(self.sum_dtype), axis=taps
            ),
            name="total",
        )
        return te.compute(
            self.output_shape,
            lambda n, h, w, c: total(n, h, w, c) / math.prod(self.taps),
            name="avg_pool2d",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        (data,) = inputs
        output = np.zeros(self.output_shape)
        for _, view in self.window.views(data, self.axes):
            output += view
        return output / math.prod(self.taps)


@dataclass(frozen=True, kw_only=True)
class GlobalAvgPool2d(Typed):
    """The mean of each channel: input NHWC, output (batch, channels).

    FLOP: one for each element of the input.

    Attributes:
        batch: Images.
        height: Rows of an image.
        width: Columns of an image.
        channels: Channels of an image.
    """

    batch: int
    height: int
    width: int
    channels: int

    form: ClassVar[str] = "global-avg-pool2d-n{batch}-h{height}-w{width}-c{channels}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = WIDE

    @property
    def flops(self) -> int:
        return math.prod(self.input_shapes[0])

    @property
    def reduction_length(self) -> int:
        return self.height * self.width

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.batch, self.height, self.width, self.channels),)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        (data,) = inputs
        h = te.reduce_axis((0, self.height), name="rh")
        w = te.reduce_axis((0, self.width), name="rw")
        shape = (self.batch, self.channels)
        total = te.compute(
            shape,
            lambda n, c: te.sum(data(n, h, w, c).astype(self.sum_dtype), axis=[h, w]),
            name="total",
        )
        return te.compute(shape, lambda n, c: total(n, c) / self.reduction_length, name="mean")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        (data,) = inputs
        return np.asarray(data.mean(axis=(1, 2)))
