"""How much of a sum a kernel may leave out before its check says so, by data type.

Products of matrices in NumPy, whose sums lack one tile of the reduction: no kernel is built. The
table has the smallest tile that is caught, as are all larger ones. Beside it stands how much of
what is allowed a right kernel needs, in the least accurate order that there is: one term after the
other.

    python benchmarks/smallest_fault.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from tabulate import tabulate

from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.workloads import BatchMatmul
from pytest_ansorbench.workloads.operators.typed import ALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads import Check

TERMS: Final = 512
_ROWS: Final = range(32, 36)
"""Each makes an operator with inputs of its own."""
_COLUMNS: Final = 64
_TILES: Final = tuple(1 << power for power in range(10))
"""Terms of a tile of the reduction."""
_FEW: Final = np.s_[:, :8, :8]
"""One tile of outputs, instead of all of them."""


def operators(dtype: str, accumulator: str) -> Iterator[BatchMatmul]:
    """Products of one type, each of other matrices."""
    for rows in _ROWS:
        yield BatchMatmul(
            batch=1, m=rows, n=_COLUMNS, k=TERMS, dtype=dtype, accumulator=accumulator
        )


def without(operator: BatchMatmul, check: Check, terms: int, outputs: Any) -> NDArray[Any]:
    """What a kernel computes that leaves the last terms out of some outputs, and is right else."""
    left, right = (array.astype(np.float64) for array in check.inputs)
    [whole] = check.outputs
    output = whole.expected.astype(np.float64)
    output[outputs] -= (left[:, :, -terms:] @ right[:, -terms:])[outputs]
    return output.astype(operator.output_dtype)


def in_order(operator: BatchMatmul, check: Check) -> NDArray[Any]:
    """The output of a kernel that adds one term after the other in the accumulator."""
    left, right = (array.astype(operator.sum_dtype) for array in check.inputs)
    total = np.zeros((operator.batch, operator.m, operator.n), operator.sum_dtype)
    for k in range(operator.k):
        total += left[..., k : k + 1] * right[:, k : k + 1]
    return total.astype(operator.output_dtype)


def smallest_caught(checked: Sequence[tuple[BatchMatmul, Check]], outputs: Any) -> int:
    """Terms of a tile that is always missed when it is left out of some outputs, as larger ones."""
    smallest = 2 * TERMS
    for terms in reversed(_TILES):
        if not all(mismatch([without(*one, terms, outputs)], one[1]) for one in checked):
            break
        smallest = terms
    return smallest


def used(output: NDArray[Any], check: Check) -> float:
    """Share of what is allowed that an output's largest error takes."""
    [right] = check.outputs
    expected = right.expected.astype(np.float64)
    off = np.abs(output.astype(np.float64) - expected)
    allowed = right.atol + right.rtol * np.abs(expected)
    return float(np.max(np.divide(off, allowed, out=np.zeros_like(off), where=off > 0)))


def row(dtype: str, accumulator: str) -> tuple[Any, ...]:
    checked = [(operator, operator.check()) for operator in operators(dtype, accumulator)]
    operator, check = checked[0]
    needed = max(used(in_order(*one), one[1]) for one in checked)
    [right] = check.outputs
    return (
        " * ".join(dict.fromkeys(operator.input_dtypes)),
        accumulator,
        operator.output_dtype,
        f"{right.rtol:.2g}",
        f"{needed:.0%}",
        *(f"{smallest_caught(checked, some)}/{TERMS}" for some in (np.s_[:], _FEW)),
    )


def main() -> None:
    rows = [row(dtype, accumulator) for dtype, sums in ALL.items() for accumulator in sums]
    headers = (
        "inputs",
        "accumulator",
        "output",
        "rtol",
        "a right kernel needs",
        "caught in all outputs",
        "in 8 x 8 of them",
    )
    print(tabulate(rows, headers, disable_numparse=True))


if __name__ == "__main__":
    main()
