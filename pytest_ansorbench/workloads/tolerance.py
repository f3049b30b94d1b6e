"""How far a right kernel may be off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tolerance(expected: NDArray[Any], reduction_length: int) -> tuple[float, float]:
    """Allowed relative and absolute error of a float32 output.

    The absolute one is relative to the output's typical size (its root mean square), so that
    it means the same for a softmax as for a convolution. It grows like a random walk: a
    float32 sum of n random terms, added one after the other, is off by up to about
    sqrt(n) * eps (see Higham, Accuracy and Stability of Numerical Algorithms, section
    4.2). The worst of a few thousand outputs is off by 1.5 times that; allowed is 4 times.
    A kernel that leaves out one term in a hundred is far outside.

    Args:
        expected: The right output.
        reduction_length: Terms summed for one element of it.
    """
    relative = 4.0 * float(np.finfo(np.float32).eps) * reduction_length**0.5
    # Exponentials and roots have an error of their own, however short the sum.
    return max(relative, 1e-5), relative * typical_size(expected)


def typical_size(array: NDArray[Any]) -> float:
    """Root mean square of an array's elements."""
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))
