"""Ranks of values, and how far two orders agree."""

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


def rank_correlation(some: Floats, others: Floats) -> float | None:
    """Spearman's rank correlation coefficient, with mid-ranks for ties.

    Args:
        some: Shape (values,).
        others: Same shape.

    Returns:
        In [-1, 1]; None if either is all the same, or there are fewer than two values.
    """
    ranks = np.array([mid_ranks(some), mid_ranks(others)])
    if ranks.shape[1] < 2 or not ranks.std(axis=1).all():
        return None
    return float(np.corrcoef(ranks)[0, 1])
