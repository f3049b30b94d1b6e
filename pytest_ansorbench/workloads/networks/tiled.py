"""Products and convolutions in the shapes that tiles of registers divide, weights in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.case import PREFETCH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from tvm.te import Tensor

BLOCKS: Final = (32, 16)
"""Features in a block, the first that divides all: two vectors of AVX-512, or two of AVX2."""
AT_ONCE: Final = 8
"""Columns of a row that a step of a reduction takes; it divides all blocks."""
TILE_ROWS: Final = range(4, 15)
"""Rows of a tile of a product, whose sums of two vectors each stay in registers."""


def blocked(weights: NDArray[Any]) -> NDArray[Any] | None:
    """Weights (..., channels, features) as (features / block, ..., channels, block), or None."""
    *others, features = weights.shape
    block = next((one for one in BLOCKS if features % one == 0), None)
    if block is None:
        return None
    blocks = weights.reshape(*others, features // block, block)
    return np.ascontiguousarray(np.moveaxis(blocks, -2, 0))


def rows_in_tiles(rows: int) -> int:
    """Rows, and as few more as it takes for a tile to divide them: 198 for 197, a prime."""
    if rows <= max(TILE_ROWS):
        return rows
    return next(n for n in count(rows) if any(n % tile == 0 for tile in TILE_ROWS))


def packed_product(data: Tensor, weights: Tensor) -> Tensor:
    """Of data (..., rows, channels), with weights (features / block, channels, block)."""
    from tvm import te

    *others, rows, channels = map(int, data.shape)
    blocks, _, block = map(int, weights.shape)
    k = te.reduce_axis((0, channels), "k")
    product = te.compute(
        (*others, rows_in_tiles(rows), blocks * block),
        lambda *at: te.sum(
            data[(*at[:-2], _row(at[-2], rows), k)] * weights[at[-1] // block, k, at[-1] % block],
            axis=[k],
        ),
        name="matmul_packed",
        attrs={PREFETCH: True},
    )
    if rows_in_tiles(rows) == rows:
        return product
    shape = (*others, rows, blocks * block)
    return te.compute(shape, lambda *at: product(*at), name="rows_of_matmul")


def columns_in_blocks(right: Tensor) -> Tensor:
    """Columns (..., channels, columns) as (..., columns / block, channels, block).

    The last column again where blocks are not full. A transposition on the way reads a line of the
    caches for each of a block's columns, and not for each of all: those would lie in few sets.
    """
    from tvm import te, tirx

    *others, channels, columns = map(int, right.shape)
    block = BLOCKS[0]
    return te.compute(
        (*others, -(-columns // block), channels, block),
        lambda *at: right[(*at[:-3], at[-2], tirx.min(at[-3] * block + at[-1], columns - 1))],
        name="columns_in_blocks",
    )


@dataclass(frozen=True)
class _Right:
    """The right side of products: batches of matrices, whatever they are laid out like."""

    shape: Sequence[int]
    element: Callable[..., Any]


def product_in_tiles(left: Tensor, right: Tensor) -> Tensor:
    """A product whose batches broadcast, over as many channels as the right side has."""
    return _product(left, _Right([*map(int, right.shape)], lambda *at: right[at]))


def product_with_blocks(
    left: Tensor, blocks: Tensor, *, columns: int | None = None, factor: float = 1.0
) -> Tensor:
    """The first columns, or all, of a product with what `columns_in_blocks` gives, times a factor.

    All are some more than there were before.
    """
    *batches, there, channels, block = map(int, blocks.shape)

    def element(*at: Any) -> Any:
        return blocks[(*at[:-2], at[-1] // block, at[-2], at[-1] % block)]

    right = _Right([*batches, channels, there * block], element)
    return _product(left, right, columns, factor)


def _product(
    left: Tensor, right: _Right, columns: int | None = None, factor: float = 1.0
) -> Tensor:
    from tvm import te

    *of_left, rows, _ = map(int, left.shape)
    *of_right, channels, computed = right.shape
    batches = np.broadcast_shapes(tuple(of_left), tuple(of_right))
    k = te.reduce_axis((0, channels), "k")

    def batch(of: Sequence[int], at: Sequence[Any]) -> list[Any]:
        own = at[len(batches) - len(of) : len(batches)]
        return [0 if extent == 1 else index for extent, index in zip(of, own, strict=True)]

    product = te.compute(
        (*batches, rows_in_tiles(rows), computed),
        lambda *at: te.sum(
            left[(*batch(of_left, at), _row(at[-2], rows), k)]
            * right.element(*batch(of_right, at), k, at[-1]),
            axis=[k],
        ),
        name="matmul",
    )
    return te.compute(
        (*batches, rows, columns or computed),
        lambda *at: product(*at) if factor == 1.0 else product(*at) * factor,
        name="part_of_matmul",
    )


def softmax_of_first(scores: Tensor, *, columns: int) -> Tensor:
    """Softmax over the first columns by polynomials; zero in the others, which repeat the last.

    A sum of a row waits for one addition after the other: here each adds several columns.
    """
    from tvm import te, tirx, topi

    *others, there = map(int, scores.shape)
    steps = there // AT_ONCE

    def over_row(reduced: Callable[..., Any], two: Callable[..., Any], of: Tensor) -> Tensor:
        k = te.reduce_axis((0, steps), "k")
        return te.compute(
            (*others, 1),
            lambda *at: reduced(
                reduce(two, [of[(*at[:-1], part * steps + k)] for part in range(AT_ONCE)]), axis=[k]
            ),
        )

    most = over_row(te.max, tirx.max, scores)
    raised = topi.fast_exp(topi.subtract(scores, most))
    masked = te.compute(
        (*others, there),
        lambda *at: tirx.Select(at[-1] < columns, raised(*at), tirx.const(0.0, "float32")),
        name="masked",
    )
    return topi.divide(masked, over_row(te.sum, add, masked))


def packed_convolution(
    data: Tensor,
    kernel: Tensor,
    *,
    shape: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """Of data with channels last; the kernel (features / block, rows, columns, channels, block)."""
    from tvm import te, topi

    _, rows, columns, channels, block = map(int, kernel.shape)
    top, left, bottom, right = padding
    if any(padding):
        data = topi.nn.pad(data, (0, top, left, 0), (0, bottom, right, 0), name="data_pad")
    r = te.reduce_axis((0, rows), "r")
    s = te.reduce_axis((0, columns), "s")
    k = te.reduce_axis((0, channels), "k")
    return te.compute(
        shape,
        lambda b, h, w, c: te.sum(
            data[b, h * strides[0] + r * dilation[0], w * strides[1] + s * dilation[1], k]
            * kernel[c // block, r, s, k, c % block],
            axis=[r, s, k],
        ),
        name="conv2d_packed",
        attrs={PREFETCH: True},
    )


def _row(index: Any, rows: int) -> Any:
    """The row itself, or the last one where rows are added: a copy of all would take longer."""
    from tvm import tirx

    return index if rows_in_tiles(rows) == rows else tirx.min(index, rows - 1)
