"""A kernel sliding over spatial axes: what every kind of convolution has in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads.operators.shape import BadShape, Shaped

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te


@dataclass(frozen=True)
class Window(Shaped):
    """How a kernel slides, the same along every spatial axis.

    Attributes:
        kernel: Taps along an axis.
        stride: Elements from one window to the next.
        padding: Zeros put before and after the input.
        dilation: Elements from one tap to the next.
    """

    kernel: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1

    def output_extent(self, extent: int) -> int:
        """Windows that fit in a padded axis of `extent` elements; below 1 if none does."""
        span = self.dilation * (self.kernel - 1) + 1
        return (extent + 2 * self.padding - span) // self.stride + 1

    def require_fit(self, extents: Mapping[str, int]) -> None:
        """Check that at least one window fits in each axis."""
        for name, extent in extents.items():
            if self.output_extent(extent) < 1:
                longest = (extent + 2 * self.padding - 1) // self.dilation + 1
                raise BadShape(
                    "kernel",
                    self.kernel,
                    f"at most {longest} for {name} {extent}, padding {self.padding}"
                    f" and dilation {self.dilation}",
                    longest,
                )

    def pad(self, data: te.Tensor, axes: Sequence[int], value: float = 0.0) -> te.Tensor:
        """`data` with a value around the given axes, as a tensor expression."""
        from tvm import topi

        if self.padding == 0:
            return data
        widths = [self.padding if axis in axes else 0 for axis in range(len(data.shape))]
        return topi.nn.pad(data, widths, pad_value=value, name="padded")

    def positions(self, outputs: Sequence[Any], taps: Sequence[Any]) -> list[Any]:
        """Where in the padded input the given taps of the given windows lie."""
        return [
            output * self.stride + tap * self.dilation
            for output, tap in zip(outputs, taps, strict=True)
        ]

    def views(
        self, data: NDArray[np.float64], axes: Sequence[int], value: float = 0.0
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.float64]]]:
        """For each tap of the kernel, the input elements that all the windows see there.

        Summing `view * weight[tap]` over all the taps is a convolution. It needs one matrix
        product a tap and, unlike gathering all windows first, no copy of the input a tap.
        """
        widths = [(self.padding, self.padding) if a in axes else (0, 0) for a in range(data.ndim)]
        padded = np.pad(data, widths, constant_values=value) if self.padding else data
        for tap in itertools.product(range(self.kernel), repeat=len(axes)):
            index = [slice(None)] * data.ndim
            for axis, offset in zip(axes, tap, strict=True):
                first = offset * self.dilation
                count = self.output_extent(data.shape[axis])
                index[axis] = slice(first, first + (count - 1) * self.stride + 1, self.stride)
            yield tap, padded[tuple(index)]
