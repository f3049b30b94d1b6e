"""The ratio of two arms' expected running times, with its interval or as a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_ansorbench.records import Bound, Estimate
from pytest_ansorbench.stats.bootstrap import Draws, draw, percentile_interval
from pytest_ansorbench.stats.estimates import UNDEFINED, around, quotients
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Floats, Hit, Spending, Trajectory


def running_time_ratio(paired: PairedRuns, spending: Spending, confidence: float) -> Estimate:
    """Expected running time to the goal's last target, challenger over reference.

    If the challenger never got there, its true expected time is at least about all it spent,
    and the ratio is a lower bound; if the reference never did, an upper bound. The ends of
    the interval that the bound leaves open are 0 and infinity.

    The target is itself drawn from the reference's runs, so each resample derives it anew: an
    interval around a target taken for granted would know too much. Undefined if neither arm ever
    reached the target.
    """

    def resampled(drawn: Draws) -> tuple[_Drawn, _Drawn]:
        targets_s = paired.targets_s(drawn)
        return (
            _drawn(paired.reference, drawn, targets_s, spending),
            _drawn(paired.challenger, drawn, targets_s, spending),
        )

    return _ratio(resampled, len(paired.reference), confidence)


def search_ratio_paper(paired: PairedRuns, confidence: float) -> Estimate:
    """S_paper: expected search time, each seed's target being its reference run's own best.

    Bounds and interval are those of `running_time_ratio`.
    """
    own_s = [run.best_s / (1.0 - paired.tolerance) for run in paired.reference]
    reference = _arm(paired.reference, own_s, "search_s")
    challenger = _arm(paired.challenger, own_s, "search_s")
    return _ratio(lambda drawn: (reference.at(drawn), challenger.at(drawn)), len(own_s), confidence)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """An arm's runs in each draw."""

    spent: Floats  # cost of each run, shape (draws, repeats)
    reached: Floats  # 1 where it reached the target, else 0; same shape

    @property
    def total(self) -> Floats:
        """Cost of all runs of a draw together, shape (draws,)."""
        total: Floats = self.spent.sum(axis=1)
        return total

    @property
    def expected(self) -> Floats:
        """`expected_running_time` of each draw, shape (draws,)."""
        hits = self.reached.sum(axis=1)
        # No hit makes infinity, also when nothing was spent.
        return np.where(hits > 0, quotients(self.total, hits), math.inf)

    def at(self, drawn: Draws) -> _Drawn:
        """Draws from a single one."""
        return _Drawn(self.spent[0][drawn], self.reached[0][drawn])


def expected_times(
    runs: Sequence[Trajectory], drawn: Draws, targets_s: Floats, spending: Spending
) -> Floats:
    """`expected_running_time` of drawn runs to a target of each draw, shape (draws,)."""
    return _drawn(runs, drawn, targets_s, spending).expected


def _drawn(
    runs: Sequence[Trajectory], drawn: Draws, targets_s: Floats, spending: Spending
) -> _Drawn:
    hits = [run.spent(targets_s, spending) for run in runs]
    spent = np.stack([spent for spent, _ in hits], axis=1)
    reached = np.stack([reached for _, reached in hits], axis=1)
    return _Drawn(
        np.take_along_axis(spent, drawn, axis=1), np.take_along_axis(reached, drawn, axis=1)
    )


def _arm(runs: Sequence[Trajectory], targets_s: Sequence[float], spending: Spending) -> _Drawn:
    """The arm as it was, in a single draw, each run with a target of its own."""
    hits = [run.spent(np.array([at]), spending) for run, at in zip(runs, targets_s, strict=True)]
    return _Drawn(
        np.array([[float(spent[0]) for spent, _ in hits]]),
        np.array([[float(reached[0]) for _, reached in hits]]),
    )


def _ratio(
    resampled: Callable[[Draws], tuple[_Drawn, _Drawn]], repeats: int, confidence: float
) -> Estimate:
    """The ratio of two arms, the reference first, from what they are in draws of the seeds."""
    reference, challenger = resampled(np.arange(repeats)[np.newaxis, :])
    bounds: dict[tuple[bool, bool], Bound] = {
        (True, True): "value",
        (False, True): "at-least",
        (True, False): "at-most",
    }
    bound = bounds.get((bool(challenger.reached.any()), bool(reference.reached.any())))
    if bound is None:
        return UNDEFINED

    def ratios(below: _Drawn, above: _Drawn) -> Floats:
        # A run that never got there is censored at its end: all that it spent was in vain.
        return quotients(
            above.total if bound == "at-least" else above.expected,
            below.total if bound == "at-most" else below.expected,
        )

    value = float(ratios(reference, challenger)[0])
    if math.isnan(value):
        return UNDEFINED
    drawn = ratios(*resampled(draw(repeats)))
    return around(value, *percentile_interval(drawn, repeats, confidence, samples=2), bound)


def expected_running_time(hits: Sequence[Hit], spending: Spending) -> float:
    """Expected spending until the target is reached, if one restarts until it is; else infinity.

        ERT = (sum of what all runs spent, hits and misses) / (number of runs that reached)

    Averaging the hits alone would reward a search that gives up early on hard seeds.
    Hansen et al., COCO: https://numbbo.github.io/coco-doc/perf-assessment/
    """
    reached = sum(hit.reached for hit in hits)
    return math.fsum(getattr(hit, spending) for hit in hits) / reached if reached else math.inf
