"""One figure over many cases, without a test."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.quotient import UNDEFINED


def is_plain(estimate: Estimate) -> bool:
    """Whether a ratio has a place in a geometric mean: no bound, not undefined, 0 or infinity."""
    return estimate.bound == "value" and 0.0 < estimate.value < math.inf


def geometric_mean(estimates: Sequence[Estimate]) -> Estimate:
    """Geometric mean of one ratio across cases, of those that have a plain figure.

    The others are left out, and have to be named beside the mean, since they are often the worst
    ones. There is no interval.
    Fleming and Wallace 1986, https://doi.org/10.1145/5666.5673

    Args:
        estimates: One per case.

    Returns:
        The mean with an interval that says nothing; undefined if no case has a plain figure.
    """
    values = [estimate.value for estimate in estimates if is_plain(estimate)]
    if not values:
        return UNDEFINED
    # Not statistics.geometric_mean alone: its result for equal ratios may differ in the last
    # digit between Python versions, and a mean of ones has to be one.
    return Estimate(math.exp(statistics.fmean(map(math.log, values))), 0.0, math.inf)
