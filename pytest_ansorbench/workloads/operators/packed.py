"""Quantized products in the layouts that VNNI's dot product of four by 16 lanes reads.

An instruction multiplies four unsigned bytes of data, which lie side by side, with four signed
bytes of weights for each of 16 outputs: 64 bytes in a row. TVM's rule for it
(`MultiLevelTilingWithIntrin`) finds it where the innermost loops are those 16 outputs and four
terms, and the bytes that it reads lie as above. `Dense` and `Conv2d` of uint8 have other layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pytest_ansorbench.workloads.operators.convolution import Planar, Square
from pytest_ansorbench.workloads.operators.dense import Product
from pytest_ansorbench.workloads.operators.shape import require_multiple

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import te

_LANES: Final = 16
"""Outputs of one instruction, and channels of a packed pixel."""
_TERMS: Final = 4
"""Products that it sums for each."""
_UNSIGNED: Final[Mapping[str, Sequence[str]]] = {"uint8": ("int32",)}


@dataclass(frozen=True, kw_only=True)
class PackedDense(Product):
    """`Dense` of unsigned data and signed weights with four terms of 16 outputs side by side.

    Inputs are data (m, k) as uint8 and weights (n / 16, k / 4, 16, 4) as int8, the output is
    (m, n / 16, 16) as int32: in memory the same as (m, n). FLOP: `2 * m * n * k`.

    Attributes:
        m: Rows of the data.
        n: Outputs for each row; a multiple of 16.
        k: Columns of the data; a multiple of 4.
    """

    dtype: str = "uint8"

    form: ClassVar[str] = "packed-dense-m{m}-n{n}-k{k}"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = _UNSIGNED

    def __post_init__(self) -> None:
        super().__post_init__()
        require_multiple(_LANES, n=self.n)
        require_multiple(_TERMS, k=self.k)

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        return (
            (self.m, self.k),
            (self.n // _LANES, self.k // _TERMS, _LANES, _TERMS),
        )

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight = inputs
        ko = te.reduce_axis((0, self.k // _TERMS), name="ko")
        ki = te.reduce_axis((0, _TERMS), name="ki")
        return te.compute(
            (self.m, self.n // _LANES, _LANES),
            lambda i, jo, ji: te.sum(
                self.product(data(i, ko * _TERMS + ki), weight(jo, ko, ji, ki)), axis=[ko, ki]
            ),
            name="packed_dense",
        )

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        data, weight = inputs
        plain = weight.transpose(1, 3, 0, 2).reshape(self.k, self.n)
        return (data @ plain).reshape(self.m, self.n // _LANES, _LANES)


@dataclass(frozen=True, kw_only=True)
class PackedConv2d(Square, Planar):
    """`Conv2d` of unsigned data and signed weights, with channels in blocks of 16.

    Inputs are data (batch, in_channels / 16, height, width, 16) as uint8 and weights
    (out_channels / 16, in_channels / 16, kernel, kernel, 4, 16, 4) as int8, where the last axes are
    four terms of 16 outputs; the output is (batch, out_channels / 16, ..., 16) as int32. These are
    the layouts of TVM's `conv2d_NCHWc_int8`.

    Attributes:
        in_channels: Channels of the input; a multiple of 16.
        out_channels: Channels of the output; a multiple of 16.
    """

    in_channels: int
    out_channels: int
    dtype: str = "uint8"

    family: ClassVar[str] = "packed-conv2d"
    accumulators: ClassVar[Mapping[str, Sequence[str]]] = _UNSIGNED

    def __post_init__(self) -> None:
        super().__post_init__()
        require_multiple(_LANES, in_channels=self.in_channels, out_channels=self.out_channels)

    @property
    def axes(self) -> range:
        return range(2, 4)

    @property
    def reduction_length(self) -> int:
        return self.kernel * self.kernel * self.in_channels

    @property
    def input_shapes(self) -> tuple[tuple[int, ...], ...]:
        blocks = self.in_channels // _LANES
        of_block = (_LANES // _TERMS, _LANES, _TERMS)
        return (
            (self.batch, blocks, self.height, self.width, _LANES),
            (self.out_channels // _LANES, blocks, *self.taps, *of_block),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.batch, self.out_channels // _LANES, *self.output_extents, _LANES)

    def sums(self, *inputs: te.Tensor) -> te.Tensor:
        from tvm import te

        data, weight = inputs
        window = self.window
        padded = window.pad(data, self.axes)
        taps = self.tap_axes()
        rc = te.reduce_axis((0, self.in_channels // _LANES), name="rc")
        ro = te.reduce_axis((0, _LANES // _TERMS), name="ro")
        ri = te.reduce_axis((0, _TERMS), name="ri")

        def element(n: Any, co: Any, h: Any, w: Any, lane: Any) -> Any:
            value = padded(n, rc, *window.positions((h, w), taps), ro * _TERMS + ri)
            product = self.product(value, weight(co, rc, *taps, ro, lane, ri))
            return te.sum(product, axis=[*taps, rc, ro, ri])

        return te.compute(self.output_shape, element, name="packed_conv2d")

    def exact(self, *inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """One matrix product for every tap, of the plain layouts."""
        data, weight = inputs
        plain = weight.transpose(2, 3, 1, 4, 6, 0, 5).reshape(
            *self.taps, self.in_channels, self.out_channels
        )
        pixels = (self.batch, *self.output_extents)
        output = np.zeros((*pixels, self.out_channels))
        for tap, view in self.window.views(data, self.axes):
            values = view.transpose(0, 2, 3, 1, 4).reshape(*pixels, self.in_channels)
            output += values @ plain[tap]
        blocked = output.reshape(*pixels, self.out_channels // _LANES, _LANES)
        return blocked.transpose(0, 3, 1, 2, 4)
