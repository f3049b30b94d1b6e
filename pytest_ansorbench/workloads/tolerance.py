"""How far from the reference an output may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.arrays import epsilon, is_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALLOWED: Final = 4.0
"""Times the error that a sum is expected to have."""
_LEAST: Final = 1e-5
"""Relative: exponentials and roots have an error of their own, however short the sum."""
_MOST: Final = 0.5
"""What is further off is wrong in any type."""


def tolerance(
    expected: NDArray[Any],
    terms: float,
    *,
    dtype: str | None = None,
    accumulator: str | None = None,
) -> tuple[float, float]:
    """Allowed relative and absolute error of an output.

    The absolute one is relative to the output's typical size (its root mean square), so that
    it means the same for a softmax as for a convolution. It grows like a random walk: a
    sum of n random terms, added one after the other, is off by up to about sqrt(n) * eps of the
    type that it is summed in (Higham and Mary, A New Approach to Probabilistic Rounding Error
    Analysis, 2019, https://doi.org/10.1137/18M1226312). The worst of a few thousand outputs is off
    by 1.5 times that; allowed is 4 times, and the rounding of the output itself. A float32 kernel
    that leaves out one term in a hundred is far outside. Whole numbers are exact.

    Args:
        expected: The reference output, in the output's type or a wider one.
        terms: Summed for one output element.
        dtype: Data type of the output; that of `expected` by default.
        accumulator: Data type that terms are summed in; that of the output by default.
    """
    kind = np.dtype(dtype or expected.dtype)
    if not is_float(kind):
        return 0.0, 0.0
    summed = np.dtype(accumulator) if accumulator else kind
    return of_error(expected, epsilon(summed) * terms**0.5 if is_float(summed) else 0.0, kind)


def of_error(expected: NDArray[Any], error: float, kind: np.dtype[Any]) -> tuple[float, float]:
    """The tolerance where an output is expected to be off by `error`, relative to its size.

    A quantized number may be off by one if what was rounded to it is.
    """
    if not is_float(kind):
        return 0.0, 1.0 if error and kind.itemsize == 1 and kind.kind != "b" else 0.0
    relative = min(_MOST, _ALLOWED * max(error, epsilon(kind)))
    return max(relative, _LEAST), relative * typical_size(expected)


def typical_size(array: NDArray[Any]) -> float:
    """Root mean square of an array's finite elements; 0 if there are none."""
    numbers = np.asarray(array, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
