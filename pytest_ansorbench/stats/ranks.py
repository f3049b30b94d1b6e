"""Ranks of values."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.stats.trajectory import Floats


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values in the middle of theirs.

    Args:
        values: Shape (values,).

    Returns:
        Same shape.
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count - 1) / 2.0)[place]
    return ranks
