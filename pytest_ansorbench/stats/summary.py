"""One figure over many cases."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ansorbench.records import Estimate


@dataclass(frozen=True, slots=True)
class MeanRatio:
    """A ratio over many cases.

    Attributes:
        value: Geometric mean of the included cases; None if there are none.
        included: Cases that have a plain, positive, finite figure.
        total: All cases.
    """

    value: float | None
    included: int
    total: int


def geometric_mean(estimates: Sequence[Estimate]) -> MeanRatio:
    """Geometric mean of one ratio across cases.

    Bounds, undefined ratios, 0 and infinity have no place in a geometric mean. They are left
    out and counted, never silently dropped: `included` of `total` must be printed beside
    `value` if they differ, since the cases left out are often the worst ones. There is no
    interval: the cases are a choice, not a sample.
    Fleming and Wallace 1986, https://doi.org/10.1145/5666.5673

    Args:
        estimates: One per case.

    Returns:
        The mean with its counts.
    """
    values = [e.value for e in estimates if e.bound == "value" and 0.0 < e.value < math.inf]
    # Not statistics.geometric_mean alone: its result for equal ratios may differ in the last
    # digit between Python versions, and a mean of ones has to be one.
    value = math.exp(statistics.fmean(map(math.log, values))) if values else None
    return MeanRatio(value, len(values), len(estimates))
