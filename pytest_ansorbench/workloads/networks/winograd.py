"""Convolutions of 3 x 3 by Winograd's minimal filtering, F(4 x 4, 3 x 3), with channels last.

Lavin and Gray, section 4.1 and equations 8 to 12, https://arxiv.org/abs/1509.09308.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.case import PREFETCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tvm.te import Tensor

TILE: Final = 4
TAPS: Final = 3
_SPAN: Final = TILE + TAPS - 1
_TO_INPUT: Final = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ],
    np.float32,
)
_TO_KERNEL: Final = (
    np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]], np.float64)
    / 24.0
)
_TO_OUTPUT: Final = np.array(
    [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
    np.float32,
)
CANCELLATION: Final = float(
    np.max(np.square(_TO_OUTPUT) @ (np.square(_TO_INPUT).sum(1) * np.square(_TO_KERNEL).sum(1)))
    / TAPS
)
"""How many times as large as an output its terms are at most, of random data and kernels: 31."""


def transformed(kernel: NDArray[Any]) -> NDArray[np.float32]:
    """A kernel (3, 3, channels in, out) as (6, 6, channels in, out)."""
    found = np.einsum("ek,fl,klio->efio", _TO_KERNEL, _TO_KERNEL, kernel.astype(np.float64))
    return np.ascontiguousarray(found, np.float32)


def convolution(data: Tensor, kernel: Tensor, padding: Sequence[int]) -> Tensor:
    """A convolution, as TVM's schedule rules for `conv2d_winograd_nhwc` expect it to be written."""
    from tvm import te, topi

    batch, height, width, channels = map(int, data.shape)
    features = int(kernel.shape[3])
    top, left, bottom, right = padding
    extents = (height + top + bottom - TAPS + 1, width + left + right - TAPS + 1)
    tiles = [-(-extent // TILE) for extent in extents]
    of_one = tiles[0] * tiles[1]
    more = [count * TILE - extent for count, extent in zip(tiles, extents, strict=True)]
    as_it_is = {"schedule_rule": "None"}
    padded = topi.nn.pad(
        data,
        (0, top, left, 0),
        (0, bottom + more[0], right + more[1], 0),
        name="data_pad",
        attrs=as_it_is,
    )
    tile = te.compute(
        (_SPAN, _SPAN, batch * of_one, channels),
        lambda row, column, t, c: padded[
            t // of_one,
            t % of_one // tiles[1] * TILE + row,
            t % tiles[1] * TILE + column,
            c,
        ],
        name="input_tile",
        attrs=as_it_is,
    )
    data_pack = _transformed_tiles(tile, _TO_INPUT, "data_pack", ("eps", "nu"))
    k = te.reduce_axis((0, channels), "ci")
    product = te.compute(
        (_SPAN, _SPAN, batch * of_one, features),
        lambda eps, nu, t, c: te.sum(data_pack[eps, nu, t, k] * kernel[eps, nu, k, c], axis=[k]),
        name="bgemm",
        attrs={PREFETCH: True},
    )
    inverse = _transformed_tiles(product, _TO_OUTPUT, "inverse", ("vh", "vw"))
    return te.compute(
        (batch, *extents, features),
        lambda b, h, w, c: inverse[
            h % TILE, w % TILE, b * of_one + h // TILE * tiles[1] + w // TILE, c
        ],
        name="conv2d_winograd",
    )


def _transformed_tiles(
    tiles: Tensor, matrix: NDArray[np.float32], name: str, axes: tuple[str, str]
) -> Tensor:
    """The matrix times each tile (6, 6), times its transpose: (rows, rows, tiles, channels)."""
    from tvm import te

    constant = _constant(matrix.T, f"{name}_matrix")
    i, j = (te.reduce_axis((0, _SPAN), axis) for axis in ("r_a", "r_b"))
    return te.compute(
        (len(matrix), len(matrix), *tiles.shape[2:]),
        lambda row, column, t, c: te.sum(
            tiles[i, j, t, c] * constant[i, row] * constant[j, column], axis=[i, j]
        ),
        name=name,
        attrs={
            "auto_scheduler_simplify_const_tensor_indices": [*axes, "r_a", "r_b"],
            "schedule_rule": f"conv2d_nhwc_winograd_{name}",
        },
    )


def _constant(matrix: NDArray[np.float32], name: str) -> Tensor:
    """A matrix of whole numbers from -16 to 15, each of whose entries is an expression.

    A row is a number in base 32. `topi.utils.const_matrix` has a condition for each entry, and TVM
    simplifies them all in each of two thousand unrolled statements, for a second a program.
    """
    from tvm import te, tirx

    rows, columns = matrix.shape
    powers = [32**column for column in range(columns)]
    packed = [
        sum((int(entry) + 16) * power for entry, power in zip(row, powers, strict=True))
        for row in matrix
    ]

    def one_of(values: Sequence[int], index: Any) -> Any:
        chosen = tirx.const(values[-1], "int64")
        for at, value in reversed([*enumerate(values)][:-1]):
            chosen = tirx.Select(index == at, tirx.const(value, "int64"), chosen)
        return chosen

    return te.compute(
        (rows, columns),
        lambda row, column: (one_of(packed, row) // one_of(powers, column) % 32 - 16).astype(
            "float32"
        ),
        name=name,
        attrs={"const_matrix": True, "schedule_rule": "None"},
    )
