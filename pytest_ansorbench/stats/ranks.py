"""Ranks, and the test of seeds whose arms are exchanged, or not: Wilcoxon's signed ranks.

If both arms of a seed are equally good, the sign of their difference is a coin's. Differences are
ranked by size, so that a measurement that went astray counts as one of the largest and no more.
Wilcoxon 1945, https://doi.org/10.2307/3001968; the interval that goes with it is by the means of
all pairs of differences: Hodges and Lehmann 1963, https://doi.org/10.1214/aoms/1177704172
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pytest_ansorbench.stats.relabellings import Signs, share
from pytest_ansorbench.stats.trajectory import Floats

_TIE: Final = 1e-9


def signed_ranks(differences: Floats) -> Floats:
    """Ranks of the sizes of differences, ties in their middle, with the differences' signs."""
    signed: Floats = np.sign(differences) * mid_ranks(np.abs(differences))
    return signed


def chance_of_ranks(differences: Floats, signs: Signs, complete: bool) -> float:
    """Chance of differences at least as far above 0, if their signs were coins'."""
    ranks = signed_ranks(differences)
    as_far = int(np.sum(signs @ ranks >= ranks.sum() - _TIE))
    return share(as_far, len(signs), complete)


def shift_interval(
    differences: Floats, signs: Signs, complete: bool, tail: float
) -> tuple[float, float]:
    """All shifts of differences that the test of signed ranks does not reject.

    The ranks above a shift add up to the number of means of pairs above it, each difference being
    paired with itself as well, so that the ends are order statistics of these means.
    Infinite where there are too few seeds for the tail.
    """
    n = len(differences)
    first, second = np.triu_indices(n)
    means = np.sort((differences[first] + differences[second]) / 2.0)
    above = (signs > 0) @ np.arange(1, n + 1)
    # How many means may lie beyond an end, while no more than the tail of ways have so few.
    as_few = np.bincount(above, minlength=len(means) + 1).cumsum() + (not complete)
    beyond = int(np.sum(as_few <= tail * (len(signs) + (not complete)) * (1.0 + 1e-12))) - 1
    if beyond < 0:
        return -math.inf, math.inf
    return float(means[beyond]), float(means[len(means) - 1 - beyond])


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values in the middle of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count - 1) / 2.0)[place]
    return ranks


def rank_correlation(some: Floats, others: Floats) -> float | None:
    """Spearman's rank correlation coefficient; None if either is all the same."""
    ranks = np.array([mid_ranks(some), mid_ranks(others)])
    if ranks.shape[1] < 2 or not ranks.std(axis=1).all():
        return None
    return float(np.corrcoef(ranks)[0, 1])
