"""Kernels that slide, and the plain convolution in any number of dimensions."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import numpy as np

from pytest_ansorbench.workloads.operators.typed import Typed
from pytest_ansorbench.workloads.operators.window import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te

_Kind = TypeVar("_Kind", bound="Square")

_CHANNELS: Final = {"channels": "c", "in_channels": "ci", "out_channels": "co"}
"""How an id calls the fields of an operator that are channels."""


@dataclass(frozen=True, kw_only=True)
class Windowed(Typed):
    """An operator whose kernel slides over the spatial axes of its input.

    FLOP: two for every product, one for each term and output element; taps that fall on padding
    count, as they do in the literature.

    Attributes:
        batch: Images.
        kernel: Taps along each spatial axis.
        stride: Elements from one window to the next.
        padding: Zeros before and after each spatial axis.
    """

    batch: int
    kernel: int
    stride: int = 1
    padding: int = 0

    # What the id begins with.
    family: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.window.require_fit(self.extents)

    @property
    @abc.abstractmethod
    def extents(self) -> dict[str, int]:
        """Elements along each spatial axis of the input, by field name, outermost first."""

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """Batch, an extent for each spatial axis, and what there is of each element."""

    @property
    def shape_id(self) -> str:
        numbers = {
            "n": self.batch,
            **{name[0]: extent for name, extent in self.extents.items()},
            **{letters: vars(self)[n] for n, letters in _CHANNELS.items() if n in vars(self)},
            "k": self.kernel,
            "s": self.stride,
            "p": self.padding,
        }
        return "-".join([self.family, *(f"{name}{number}" for name, number in numbers.items())])

    @property
    def window(self) -> Window:
        """How the kernel slides."""
        return Window(self.kernel, self.stride, self.padding)

    @property
    def output_extents(self) -> tuple[int, ...]:
        """Windows along each spatial axis."""
        return tuple(self.window.output_extent(extent) for extent in self.extents.values())

    @property
    def flops(self) -> int:
        return 2 * math.prod(self.output_shape) * self.reduction_length

    @property
    def taps(self) -> tuple[int, ...]:
        """Taps along each spatial axis."""
        return (self.kernel,) * len(self.extents)

    def tap_axes(self) -> list[te.Tensor]:
        """A reduction over the taps of each spatial axis."""
        from tvm import te

        return [te.reduce_axis((0, self.kernel), name=f"r{name[0]}") for name in self.extents]

    @property
    def axes(self) -> range:
        """Places of the spatial axes."""
        return range(1, 1 + len(self.extents))


@dataclass(frozen=True, kw_only=True)
class Planar(Windowed):
    """A `Windowed` operator on images.

    Attributes:
        height: Rows of the input.
        width: Columns of the input.
    """

    height: int
    width: int

    @property
    def extents(self) -> dict[str, int]:
        return {"height": self.height, "width": self.width}


class Square:
    """A convolution of images, with as many rows as columns in the ones that `square` makes."""

    @classmethod
    def square(
        cls: type[_Kind],
        size: int,
        in_channels: int,
        out_channels: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        **more: Any,
    ) -> _Kind:
        """One square image; `more` are the fields of a subclass."""
        fields = {
            "batch": 1,
            "height": size,
            "width": size,
            "in_channels": in_channels,
            "out_channels": out_channels,
            "kernel": kernel,
            "stride": stride,
            "padding": padding,
        }
        return cls(**fields, **more)


@dataclass(frozen=True, kw_only=True)
class Channelwise(Planar):
    """A `Planar` operator that keeps channels apart: data NHWC, output NHWC.

    Attributes:
        channels: Channels of input and output.
    """

    channels: int

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((self.batch, self.height, self.width, self.channels),)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.batch, *self.output_extents, self.channels)


@dataclass(frozen=True, kw_only=True)
class Convolution(Windowed):
    """Channels-last convolution: input N...C, kernel ...IO, output N...C.

    Attributes:
        in_channels: Channels of the input.
        out_channels: Channels of the output.
    """

    in_channels: int
    out_channels: int

    @property
    def group_count(self) -> int:
        """Into how many independent convolutions the channels are divided."""
        return 1

    @property
    def reduction_length(self) -> int:
        return math.prod(self.taps) * self.in_channels // self.group_count

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (
            (self.batch, *self.extents.values(), self.in_channels),
            (*self.taps, self.in_channels // self.group_count, self.out_channels),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.batch, *self.output_extents, self.out_channels)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight = inputs
        window = self.window
        group_inputs = self.in_channels // self.group_count
        group_outputs = self.out_channels // self.group_count
        padded = window.pad(data, self.axes)
        taps = self.tap_axes()
        channel = te.reduce_axis((0, group_inputs), name="rc")

        def element(*index: Any) -> Any:
            image, *outputs, out_channel = index
            in_channel = channel
            if self.group_count > 1:  # else TVM would keep a division that is always zero
                in_channel = out_channel // group_outputs * group_inputs + channel
            value = padded(image, *window.positions(outputs, taps), in_channel)
            product = self.product(value, weight(*taps, channel, out_channel))
            return te.sum(product, axis=[*taps, channel])

        return te.compute(self.output_shape, element, name="conv")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """One matrix product for every tap and group."""
        data, weight = inputs
        output = np.zeros(self.output_shape)
        for tap, view in self.window.views(data, self.axes):
            groups = zip(
                np.split(output, self.group_count, axis=-1),
                np.split(view, self.group_count, axis=-1),
                np.split(weight[tap], self.group_count, axis=-1),
                strict=True,
            )
            for into, values, weights in groups:  # `into` is a view of `output`
                into += values @ weights
        return output
