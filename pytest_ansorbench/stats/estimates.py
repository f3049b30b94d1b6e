"""Division where 0 and infinity are ordinary figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pytest_ansorbench.records import Bound, Estimate
from pytest_ansorbench.stats.trajectory import Floats

# There was nothing to compare
UNDEFINED: Final = Estimate(value=0.0, low=0.0, high=math.inf, bound="undefined")

_TURNED: Final[Mapping[Bound, Bound]] = {"at-least": "at-most", "at-most": "at-least"}


def quotient(numerator: float, denominator: float) -> float:
    """Divide; 0/0 and inf/inf are NaN."""
    return float(quotients(np.array([numerator]), np.array([denominator]))[0])


def quotients(numerators: Floats, denominators: Floats) -> Floats:
    """`quotient` elementwise, both of one shape."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.divide(numerators, denominators)
    return result


def is_plain(estimate: Estimate) -> bool:
    """Whether a ratio has a place in a geometric mean: no bound, not undefined, 0 or infinity."""
    return estimate.bound == "value" and 0.0 < estimate.value < math.inf


def geometric_mean(estimates: Sequence[Estimate]) -> Estimate:
    """Geometric mean of one ratio across cases, of those that have a plain figure.

    The others are left out, and have to be named beside the mean, since they are often the worst
    ones. There is no interval.
    Fleming and Wallace 1986, https://doi.org/10.1145/5666.5673
    """
    values = [estimate.value for estimate in estimates if is_plain(estimate)]
    if not values:
        return UNDEFINED
    # Not statistics.geometric_mean alone: its result for equal ratios may differ in the last
    # digit between Python versions, and a mean of ones has to be one.
    return Estimate(math.exp(statistics.fmean(map(math.log, values))), 0.0, math.inf)


def inverse(estimate: Estimate) -> Estimate:
    """The ratio the other way round."""
    if estimate.bound == "undefined":
        return estimate
    value, low, high = (quotient(1.0, one) for one in (estimate.value, estimate.high, estimate.low))
    return Estimate(value, low, high, _TURNED.get(estimate.bound, estimate.bound))


def around(value: float, low: float, high: float, bound: Bound = "value") -> Estimate:
    """A ratio in an interval that reaches to it at least, and to no end on a bound's open side."""
    return Estimate(
        value,
        0.0 if bound == "at-most" else min(low, value),
        math.inf if bound == "at-least" else max(high, value),
        bound,
    )


def widened(estimate: Estimate, error: float) -> Estimate:
    """A ratio with an interval that is wider by an error of its logarithm, to either side."""
    if not error or estimate.bound == "undefined":
        return estimate
    low, high = estimate.low * math.exp(-error), estimate.high * math.exp(error)
    return Estimate(estimate.value, low, high, estimate.bound)
