"""S along the ladder of targets: how much longer the challenger takes, and how sure that is.

`climb` has the estimator. Its interval holds all ratios that an exact test does not reject: if the
true ratio is s, the challenger's runs with their costs divided by s could as well have been the
reference's, so the labels are put on anew and the votes counted. Gates ask the same test, so
interval and verdict cannot disagree. Where there are too few relabellings for a confidence, the
interval has no end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Final

import numpy as np

from pytest_ansorbench.records import Bound, Estimate
from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.estimates import UNDEFINED, around
from pytest_ansorbench.stats.goal import EARLY, Goal
from pytest_ansorbench.stats.inversion import BEYOND, STRIDE, outermost
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import FEWEST_REPEATS, ONE_ERROR
from pytest_ansorbench.stats.relabellings import permutation_chance, share, some_relabellings
from pytest_ansorbench.stats.trajectory import Floats

_TIE: Final = 1e-9
_WHOLE: Final = Goal(EARLY.low, 1.0)  # what can be told of a way: first kernels are luck
_STRIDES: Final = 8  # beyond a rejected ratio
_OUTER: Final = 0.9  # confidence of the outer interval that a spread is taken from


def ladder_ratio(climb: Climb, confidence: float) -> Estimate:
    """The factor at which votes balance, with the interval of the exact test.

    Where more than half of the votes are of runs of the challenger that missed, no factor balances
    them: the ratio is at least what `Climb.log_bound` says; at most, where they are of runs of the
    reference. Undefined if no run reached any rung.
    """
    log_ratio = climb.log_ratio
    if math.isnan(log_ratio):
        return UNDEFINED
    bound: Bound = "value"
    if math.isinf(log_ratio):
        bound = "at-least" if log_ratio > 0.0 else "at-most"
        log_ratio = climb.log_bound(log_ratio)
    return around(math.exp(log_ratio), *_interval(climb, log_ratio, confidence), bound)


def ladder_lateness(climb: Climb, drawn: Draws) -> Floats:
    """How late the challenger is in each draw of the seeds, at the ratio of all seeds.

    Votes a pair and rung, from -1 to 1, shape (draws,). As a statistic of relabellings it is finer
    than the ratio itself, which as a median is the same for many of them.
    """
    log_ratio = climb.log_ratio
    if not math.isfinite(log_ratio):
        log_ratio = climb.log_bound(log_ratio)
    return climb.mean_votes(drawn, log_ratio)


def ladder_chance(climb: Climb, limit: float, level: float) -> float:
    """Chance to be at least as late as seen, if the true ratio were the limit."""
    n, scores = climb.repeats, climb.scores(math.log(limit))
    return permutation_chance(
        lambda labels: climb.lateness(scores, labels, climb.ladders(labels[:, :n])), n, n, level
    )


def ahead_to(paired: PairedRuns) -> float | None:
    """The share of the reference's gain up to which the challenger is sooner, in (0, 1].

    Up to the first rung at which as many pairs say that it was later as say earlier. None if that
    is the lowest.
    """
    shares, votes = Climb.of(paired, "search_s", _WHOLE).rungs(0.0)
    behind = np.flatnonzero(votes >= 0.0)
    if not len(behind):
        return 1.0
    return float(shares[behind[0] - 1]) if behind[0] else None


def ladder_spread(climb: Climb) -> float | None:
    """Spread of the log ratio per pair of runs; None below three pairs, or without an interval.

    From exact intervals, by the standard errors that a normal distribution's reach to. A jackknife
    would not do: as a median S does not change at all when some pairs are left out. Of an inner and
    an outer interval the wider one counts, as searches scatter with heavy tails.
    """
    n = climb.repeats
    widths = []
    for confidence in (ONE_ERROR, _OUTER):
        estimate = ladder_ratio(climb, confidence)
        if estimate.bound == "value" and estimate.low > 0.0 and not math.isinf(estimate.high):
            errors = NormalDist().inv_cdf(0.5 + confidence / 2.0)
            widths.append(math.log(estimate.high / estimate.low) / 2.0 / errors)
    if n < FEWEST_REPEATS or not widths:
        return None
    return max(widths) * math.sqrt(n)


def _interval(climb: Climb, inside: float, confidence: float) -> tuple[float, float]:
    """All ratios that the test does not reject, from one that is among them, outwards."""
    test = _Test(climb, (1.0 - confidence) / 2.0)
    gaps = test.gaps
    below = test.last_kept(int(np.searchsorted(gaps, inside - _TIE)), -1)
    above = test.last_kept(int(np.searchsorted(gaps, inside + _TIE)), 1)
    low = inside if below is None else -math.inf if below == 0 else float(gaps[below - 1])
    high = inside if above is None else math.inf if above == len(gaps) else float(gaps[above])
    return math.exp(low), math.exp(high)


class _Test:
    """The test of one ratio after the other, over the same relabellings.

    Votes change where a ratio crosses the gap between a pair of runs, and nowhere else. So one
    ratio stands for each stretch between neighbouring gaps, and the ends of an interval are gaps.
    """

    def __init__(self, climb: Climb, tail: float) -> None:
        self.gaps = climb.gaps()
        self._climb, self._tail = climb, tail
        self._labels, self._complete = some_relabellings(climb.repeats, climb.repeats, tail)
        self._ladders = climb.ladders(self._labels[:, : climb.repeats])
        self._own_ladder = climb.ladder
        between = (self.gaps[1:] + self.gaps[:-1]) / 2.0
        self._ratios = np.concatenate([[self.gaps[0] - BEYOND], between, [self.gaps[-1] + BEYOND]])

    def last_kept(self, first: int, step: int) -> int | None:
        """The last stretch that is kept on the way down (-1) or up (1); None if none is."""
        last = len(self.gaps) if step > 0 else 0

        def kept(stretch: int) -> bool:
            return step * (last - stretch) >= 0 and self._chance(stretch, step) > self._tail

        def ahead(end: int, rejected: int) -> Iterator[tuple[int, int]]:
            edge = float(self._ratios[min(max(end, 0), len(self.gaps))])
            for strides in range(_STRIDES, 0, -1):
                stretch = int(np.searchsorted(self.gaps, edge + step * strides * STRIDE))
                if step * (stretch - end) > 0:
                    yield stretch, last + step

        end, _ = outermost(kept, first - step, last + step, _halfway, ahead)
        return None if end == first - step else end

    def _chance(self, stretch: int, side: int) -> float:
        """Probability to look at least as fast (`side` 1) or slow (-1) if this were the ratio."""
        scores = self._climb.scores(float(self._ratios[stretch]))
        seen = self._climb.lateness(scores, self._climb.seen, self._own_ladder)[0]
        votes = self._climb.lateness(scores, self._labels, self._ladders)
        extreme = int(np.sum(side * votes <= side * seen + _TIE))
        return share(extreme, len(votes), self._complete)


def _halfway(one: int, other: int) -> int | None:
    return (one + other) // 2 if abs(other - one) > 1 else None
