"""The ratio of two arms' expected running times, with its interval or as a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import percentile_interval
from pytest_ansorbench.stats.ert import expected_running_time
from pytest_ansorbench.stats.trajectory import Hit

UNDEFINED = Estimate(value=0.0, low=0.0, high=math.inf, bound="undefined")
"""There was nothing to compare."""

Spending = Literal["search_s", "trials"]


def running_time_ratio(
    reference: Sequence[Hit], candidate: Sequence[Hit], spending: Spending, confidence: float
) -> Estimate:
    """Expected running time to the target, candidate over reference.

    If the candidate never got there, its true expected time is at least about all it spent,
    and the ratio is a lower bound; if the reference never did, an upper bound. The ends of
    the interval that the bound leaves open are 0 and infinity.

    Args:
        reference: One hit per seed.
        candidate: One hit per seed, in the same order.
        spending: What is counted: search time or trials.
        confidence: Confidence of the interval, in (0, 1).

    Returns:
        The estimate; undefined if neither arm ever reached its target.
    """
    top, bottom = _Arm.of(candidate, spending), _Arm.of(reference, spending)
    bounds = {
        (True, True): "value",
        (False, True): "at-least",
        (True, False): "at-most",
    }
    bound = bounds.get((top.ever_reached, bottom.ever_reached))
    if bound is None:
        return UNDEFINED
    if bound == "at-least":
        top = top.cut_at_its_end()
    elif bound == "at-most":
        bottom = bottom.cut_at_its_end()
    value = quotient(top.expected(), bottom.expected())
    if math.isnan(value):
        return UNDEFINED

    def resampled(drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        return quotients(top.resampled(drawn), bottom.resampled(drawn))

    low, high = percentile_interval(resampled, len(reference), confidence)
    if bound == "at-least":
        return Estimate(value, min(low, value), math.inf, "at-least")
    if bound == "at-most":
        return Estimate(value, 0.0, max(high, value), "at-most")
    return Estimate(value, min(low, value), max(high, value))


def quotient(numerator: float, denominator: float) -> float:
    """Divide where 0 and infinity are ordinary figures; 0/0 and inf/inf are NaN."""
    return float(quotients(np.array([numerator]), np.array([denominator]))[0])


def quotients(
    numerators: NDArray[np.float64], denominators: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`quotient` elementwise, both of one shape."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: NDArray[np.float64] = np.divide(numerators, denominators)
    return result


@dataclass(frozen=True, slots=True)
class _Arm:
    """An arm's spending and hits as arrays of shape (repeats,).

    `total` asks for the sum instead of the expected time: what is left of an arm without hits.
    """

    spent: NDArray[np.float64]
    reached: NDArray[np.float64]
    total: bool = False

    @classmethod
    def of(cls, hits: Sequence[Hit], spending: Spending) -> _Arm:
        spent = [hit.search_s if spending == "search_s" else hit.trials for hit in hits]
        return cls(np.array(spent, dtype=float), np.array([hit.reached for hit in hits], float))

    @property
    def ever_reached(self) -> bool:
        return bool(self.reached.any())

    def cut_at_its_end(self) -> _Arm:
        return _Arm(self.spent, self.reached, total=True)

    def expected(self) -> float:
        if self.total:
            return math.fsum(self.spent)
        return expected_running_time(self.spent.tolist(), self.reached.astype(bool).tolist())

    def resampled(self, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        spent: NDArray[np.float64] = self.spent[drawn].sum(axis=1)
        if self.total:
            return spent
        reached: NDArray[np.float64] = self.reached[drawn].sum(axis=1)
        # No hit makes infinity, also when nothing was spent.
        return np.where(reached > 0, quotients(spent, reached), math.inf)
