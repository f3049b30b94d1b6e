"""S over the way: how much longer the challenger takes along a ladder of targets.

`climb` has the estimator. Its interval holds all ratios that an exact test does not reject: if the
true ratio is s, the challenger's runs with their costs divided by s could as well have been the
reference's, so the labels are put on anew and the votes counted. The test is the one that gates
ask, so interval and verdict cannot disagree, and where there are too few relabellings for a
confidence, the interval has no end.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.estimates import UNDEFINED
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.permutation_tests import permutation_chance
from pytest_ansorbench.stats.relabellings import Relabellings, share, some_relabellings
from pytest_ansorbench.stats.trajectory import Floats, Spending

_TIE: Final = 1e-9
_STRIDE: Final = 0.02
# So far is it looked for ratios that are kept beyond one that is rejected, in logarithms
_LOOKS_AHEAD: Final = 8
# How far beyond all votes the outermost ratios lie that are tested, as logarithm
_BEYOND: Final = 1.0


def ladder_ratio(paired: PairedRuns, spending: Spending, confidence: float) -> Estimate:
    """The factor at which votes balance, with the interval of the exact test.

    If no run of the challenger ever reached a rung, the ratio is at least about the median of the
    pairs' ratios with all that the challenger spent; if none of the reference's did, at most.

    Returns: The estimate; undefined if neither arm ever reached a rung.
    """
    climb = Climb.of(paired, spending)
    log_ratio = climb.log_ratio
    if math.isnan(log_ratio):
        return UNDEFINED
    if math.isinf(log_ratio):
        bound = math.exp(float(np.median(climb.gaps())))
        low, high = _interval(climb, math.log(bound), confidence)
        if log_ratio > 0.0:
            return Estimate(bound, min(low, bound), math.inf, "at-least")
        return Estimate(bound, 0.0, max(high, bound), "at-most")
    value = math.exp(log_ratio)
    low, high = _interval(climb, log_ratio, confidence)
    return Estimate(value, min(low, value), max(high, value))


def ladder_ratios(paired: PairedRuns, drawn: Draws, spending: Spending) -> Floats:
    """The factor at which votes balance in each draw of the seeds.

    Returns: Shape (draws,); infinity where no run of the challenger ever reached a rung, 0 where
    none of the reference did, NaN where neither did.
    """
    ratios: Floats = np.exp(Climb.of(paired, spending).log_ratios(drawn))
    return ratios


def ladder_lateness(paired: PairedRuns, drawn: Draws, spending: Spending) -> Floats:
    """How late the challenger is in each draw of the seeds, at the ratio of all seeds.

    As a statistic of relabellings it is finer than the ratio itself, which as a median is the same
    for many of them.

    Returns: Votes a pair and rung, from -1 to 1, shape (draws,).
    """
    climb = Climb.of(paired, spending)
    log_ratio = climb.log_ratio
    if not math.isfinite(log_ratio):
        log_ratio = float(np.median(climb.gaps()))
    return climb.mean_votes(drawn, log_ratio)


def ladder_chance(paired: PairedRuns, spending: Spending, limit: float, level: float) -> float:
    """Chance to be at least as late as seen, if the true ratio were the limit."""
    climb = Climb.of(paired, spending)
    n, scores = climb.repeats, climb.scores(math.log(limit))
    return permutation_chance(
        lambda relabellings: climb.lateness(
            scores, relabellings, climb.ladders(relabellings[:, :n])
        ),
        n,
        n,
        level,
    )


def _interval(climb: Climb, inside: float, confidence: float) -> tuple[float, float]:
    """All ratios that the test does not reject, from one that is among them, outwards.

    Votes change where a pair's gap is crossed and nowhere else, so that the ends are gaps.
    """
    tail = (1.0 - confidence) / 2.0
    test = _Test(climb, *some_relabellings(climb.repeats, climb.repeats, tail))
    gaps = climb.all_gaps()
    between = np.concatenate(
        [[gaps[0] - _BEYOND], (gaps[1:] + gaps[:-1]) / 2.0, [gaps[-1] + _BEYOND]]
    )

    def last_kept(first: int, last: int, side: float) -> int | None:
        """The last stretch that is kept on the way from one to another; None if none is."""
        step = 1 if last >= first else -1

        def searched(kept: int, rejected: int) -> int:
            while abs(rejected - kept) > 1:
                middle = (rejected + kept) // 2
                if test.chance(float(between[middle]), side) > tail:
                    kept = middle
                else:
                    rejected = middle
            return kept

        kept = searched(first - step, last + step)
        # Relabellings have ladders of their own, so that a ratio may be rejected and one beyond it
        # not.
        edge = float(between[min(max(kept, 0), len(gaps))])
        for ahead in range(_LOOKS_AHEAD, 0, -1):
            place = int(np.searchsorted(gaps, edge + step * ahead * _STRIDE))
            if step * (place - kept) <= 0 or step * (last - place) < 0:
                continue
            if test.chance(float(between[place]), side) > tail:
                kept = searched(place, last + step)
                break
        return None if kept == first - step else kept

    below = last_kept(int(np.searchsorted(gaps, inside - _TIE)), 0, -1.0)
    above = last_kept(int(np.searchsorted(gaps, inside + _TIE)), len(gaps), 1.0)
    low = inside if below is None else -math.inf if below == 0 else float(gaps[below - 1])
    high = inside if above is None else math.inf if above == len(gaps) else float(gaps[above])
    return math.exp(low), math.exp(high)


class _Test:
    """The test of one ratio after the other, over the same relabellings."""

    def __init__(self, climb: Climb, relabellings: Relabellings, complete: bool) -> None:
        n = climb.repeats
        self._climb, self._deals, self._complete = climb, relabellings, complete
        self._ladders = climb.ladders(relabellings[:, :n])
        self._own_ladder = climb.ladder

    def chance(self, log_ratio: float, side: float) -> float:
        """Probability to look at least as fast (`side` 1) or slow (-1) if this were the ratio."""
        scores = self._climb.scores(log_ratio)
        seen = self._climb.lateness(scores, self._climb.seen, self._own_ladder)[0]
        votes = self._climb.lateness(scores, self._deals, self._ladders)
        extreme = int(np.sum(side * votes <= side * seen + _TIE))
        return share(extreme, len(votes), self._complete)
