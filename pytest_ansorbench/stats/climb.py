"""When each run of two arms reached each of many throughputs, and the votes of pairs of runs.

A *ladder* of targets rises from a share of the reference's gain to its end, its rungs evenly spaced
on a logarithmic scale. For each rung a run has a cost, or is censored at all it spent. A pair of
runs, one of each arm, votes for each rung: the challenger was later, or earlier, or, where a run
ended without having been there and the other one got there later than that, nothing. These are
Gehan's scores for censored times; that factor on the challenger's costs at which both votes balance
is the estimator of the accelerated failure time model. With one rung and nothing censored it is
the median of the ratios of all pairs, the estimate of Hodges and Lehmann.
Gehan 1965, https://doi.org/10.1093/biomet/52.1-2.203; Jin, Lin, Wei and Ying 2003,
https://doi.org/10.1093/biomet/90.2.341

The ladder is the reference's, so a relabelling that makes other runs the reference's has another
ladder. Levels, of which every ladder is a stretch, are derived from all runs together, which no
label can change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import Relabellings
from pytest_ansorbench.stats.trajectory import Floats, Spending

# Index of the first level of each ladder, and of the first beyond its last
Ladders = tuple[NDArray[np.intp], NDArray[np.intp]]

# Relative; a level on the end of a ladder belongs to it, and costs are equal, however rounded
_SLACK: Final = 1e-9
_NO_COST: Final = 1e-12  # in place of a cost of 0, which has no logarithm
_LONGEST: Final = 8  # levels there are at most, in ladders: outliers have no use for more
_CHUNK: Final = 1_000_000  # weights of votes that are computed at a time


@dataclass(frozen=True, slots=True, eq=False)
class Climb:
    """Two arms of n runs each on their way up, l levels of throughput."""

    levels: Floats  # throughputs in kernel calls a second, rising, shape (l,)
    # Logarithm of the cost until a run reached a level, or of all it spent, the reference's runs
    # first; shape (2n, l)
    log_cost: Floats
    reached: NDArray[np.bool_]  # whether it reached it; same shape
    first: Floats  # throughput of each run's first valid trial, 0 without one; shape (2n,)
    best: Floats  # throughput that each run got to; same shape
    low: float  # share of the reference's gain where a ladder begins
    tolerance: float  # share of throughput that a ladder stays below the reference's end

    @classmethod
    def of(cls, paired: PairedRuns, spending: Spending) -> Climb:
        """From runs whose goal is `way`."""
        runs = [*paired.reference, *paired.challenger]
        first = np.array([1.0 / run.first_s for run in runs])
        best = np.array([1.0 / run.best_s for run in runs])
        low, tolerance = paired.goal.value, paired.tolerance
        levels = _levels(first, best, low, tolerance, paired.goal.targets)
        spent = [run.spent((1.0 + _SLACK) / levels, spending) for run in runs]
        costs = np.stack([cost for cost, _ in spent])
        return cls(
            levels=levels,
            log_cost=np.log(np.maximum(costs, _NO_COST)),
            reached=np.stack([reached > 0.0 for _, reached in spent]),
            first=first,
            best=best,
            low=low,
            tolerance=tolerance,
        )

    @property
    def repeats(self) -> int:
        return len(self.best) // 2

    @property
    def seen(self) -> Relabellings:
        """The labels as they are, a relabelling by itself, shape (1, 2n)."""
        return np.arange(2 * self.repeats)[np.newaxis, :]

    def ladders(self, reference: NDArray[np.intp]) -> Ladders:
        """The ladder for each choice of the reference's runs, shape (relabellings, n).

        Indices of its first level, and of the first beyond its last, each of shape (relabellings,).
        """
        low, high = _ends(self.first[reference], self.best[reference], self.low, self.tolerance)
        start = np.searchsorted(self.levels, low * (1.0 - _SLACK), side="left")
        stop = np.searchsorted(self.levels, high * (1.0 + _SLACK), side="right")
        # One rung at least: the highest level that is not beyond the ladder's end.
        stop = np.maximum(stop, 1)
        return np.minimum(start, stop - 1), stop

    @property
    def ladder(self) -> Ladders:
        """The reference's, as `ladders` gives it for a single relabelling."""
        return self.ladders(self.seen[:, : self.repeats])

    @property
    def log_ratio(self) -> float:
        """The factor at which the votes of all seeds balance, as logarithm."""
        return float(self.log_ratios(self.seen[:, : self.repeats])[0])

    def scores(self, log_ratio: float) -> Floats:
        """How many runs each run is later than, less those it is earlier than, added up by level.

        Sums over all levels below each, shape (2n, l + 1), with the challenger's costs divided by
        the ratio.
        """
        log_cost = self.log_cost.copy()
        log_cost[self.repeats :] -= log_ratio
        # Costs that are the same but for their rounding are a tie.
        later = log_cost[:, np.newaxis] > log_cost[np.newaxis] + _SLACK
        later &= self.reached[np.newaxis]
        votes = later.sum(axis=1, dtype=np.int32) - later.sum(axis=0, dtype=np.int32)
        sums = np.zeros((votes.shape[0], votes.shape[1] + 1))
        np.cumsum(votes, axis=1, out=sums[:, 1:])
        return sums

    def lateness(self, scores: Floats, labels: Relabellings, ladders: Ladders) -> Floats:
        """Votes a rung that each relabelling's second group is later, less those for earlier.

        Votes within a group cancel out, so that a group's scores add up to those against the other.
        """
        start, stop = (ends[:, np.newaxis] for ends in ladders)
        second = labels[:, self.repeats :]
        votes: Floats = (scores[second, stop] - scores[second, start]).sum(axis=1)
        mean: Floats = votes / (ladders[1] - ladders[0])
        return mean

    def rungs(self, log_ratio: float) -> tuple[Floats, Floats]:
        """The share of the reference's gain at each rung of its ladder, and the votes there.

        Votes that the challenger is later, less those that it is earlier.
        """
        n = self.repeats
        [start], [stop] = self.ladder
        first, end = _ends(self.first[:n], self.best[:n], 0.0, self.tolerance)
        gain = max(float(end - first), _NO_COST)
        votes = np.diff(self.scores(log_ratio)[n:].sum(axis=0))
        return (self.levels[start:stop] - first) / gain, votes[start:stop]

    def gaps(self) -> Floats:
        """Log cost of each challenger's run less that of each reference run, on the rungs."""
        n = self.repeats
        [start], [stop] = self.ladder
        cost = self.log_cost[:, start:stop]
        gaps: Floats = (cost[n:, np.newaxis] - cost[np.newaxis, :n]).ravel()
        return gaps

    def all_gaps(self) -> Floats:
        """The same on all levels, each only once; rising."""
        n = self.repeats
        gaps = np.sort((self.log_cost[n:, np.newaxis] - self.log_cost[np.newaxis, :n]).ravel())
        distinct: Floats = gaps[np.diff(gaps, prepend=-math.inf) > _SLACK]
        return distinct

    def log_ratios(self, drawn: Draws) -> Floats:
        """The factor at which votes balance, in each draw of seeds, as logarithm.

        Shape (draws,); infinity where no run of the challenger reached any rung, minus
        infinity where none of the reference did, NaN where neither did.
        """
        # Few seeds are drawn again and again: five in 126 ways, of 10,000 draws.
        distinct, places = np.unique(np.sort(drawn, axis=1), axis=0, return_inverse=True)
        found: Floats = self._log_ratios(distinct)[places.ravel()]
        return found

    def _log_ratios(self, drawn: Draws) -> Floats:
        n = self.repeats
        start, stop = self.ladders(drawn)
        used = slice(int(start.min()), int(stop.max()))
        cost, reached = self.log_cost[:, used], self.reached[:, used]
        shape = (n, n, cost.shape[1])
        later = np.broadcast_to(reached[np.newaxis, :n], shape).ravel()
        earlier = np.broadcast_to(reached[n:, np.newaxis], shape).ravel()
        gap = (cost[n:, np.newaxis] - cost[np.newaxis, :n]).ravel()
        votes = np.flatnonzero(later | earlier)
        votes = votes[np.argsort(gap[votes], kind="stable")]
        challenger, reference, level = np.unravel_index(votes, shape)
        level = level + used.start
        found = np.full(len(drawn), math.nan)
        if not len(votes):
            return found
        gap, later, earlier = gap[votes], later[votes], earlier[votes]
        size = max(1, _CHUNK // len(votes))
        for at in range(0, len(drawn), size):
            part = slice(at, at + size)
            times = _times_drawn(drawn[part], n)
            weight = times[:, challenger] * times[:, reference]
            on_ladder = (level >= start[part, np.newaxis]) & (level < stop[part, np.newaxis])
            weight = np.where(on_ladder, weight, 0.0)
            found[part] = _balance(gap, weight * later, weight * earlier)
        return found

    def mean_votes(self, drawn: Draws, log_ratio: float) -> Floats:
        """Votes that the challenger is later, less those that it is earlier, in each draw of seeds.

        Mean over pairs of runs and rungs, from -1 to 1, shape (draws,).
        """
        n = self.repeats
        gap = self.log_cost[n:, np.newaxis] - log_ratio - self.log_cost[np.newaxis, :n]
        votes = ((gap > _SLACK) & self.reached[np.newaxis, :n]).astype(float)
        votes -= (gap < -_SLACK) & self.reached[n:, np.newaxis]
        sums = np.concatenate([np.zeros((n, n, 1)), votes.cumsum(axis=2)], axis=2)
        start, stop = self.ladders(drawn)
        found = np.empty(len(drawn))
        size = max(1, _CHUNK // drawn.shape[1] ** 2)
        for at in range(0, len(drawn), size):
            part = slice(at, at + size)
            pairs = (drawn[part, :, np.newaxis], drawn[part, np.newaxis, :])
            low, high = (ends[part, np.newaxis, np.newaxis] for ends in (start, stop))
            found[part] = (sums[(*pairs, high)] - sums[(*pairs, low)]).mean(axis=(1, 2))
        mean: Floats = found / (stop - start)
        return mean


def _times_drawn(drawn: Draws, n: int) -> Floats:
    """How often each seed was drawn, shape (draws, n)."""
    rows = np.arange(len(drawn))[:, np.newaxis] * n
    counts = np.bincount((rows + drawn).ravel(), minlength=len(drawn) * n)
    return counts.reshape(len(drawn), n).astype(float)


def _balance(gap: Floats, later: Floats, earlier: Floats) -> Floats:
    """Where the weights of gaps above, that are `later`, and below, that are `earlier`, balance.

    Gaps are sorted; weights and the result have a row a draw.
    """
    all_later, all_earlier = later.sum(axis=1), earlier.sum(axis=1)
    # Votes for later less votes for earlier at a factor just above each gap; falling.
    beyond = all_later[:, np.newaxis] - np.cumsum(later + earlier, axis=1)
    last = len(gap) - 1
    # Votes that balance over a stretch do so in its middle, as for a median of an even number.
    balanced = np.minimum((beyond > 0.5 * _LEAST).sum(axis=1), last)
    behind = np.minimum((beyond > -0.5 * _LEAST).sum(axis=1), last)
    found: Floats = (gap[balanced] + gap[behind]) / 2.0
    found[all_earlier == 0.0] = math.inf
    found[all_later == 0.0] = -math.inf
    found[(all_later == 0.0) & (all_earlier == 0.0)] = math.nan
    return found


_LEAST: Final = 1.0  # the least weight of a vote: seeds are drawn a whole number of times


def _ends(first: Floats, best: Floats, low: float, tolerance: float) -> tuple[Floats, Floats]:
    """Ends of the ladder of reference runs along the last axis."""
    high = np.median(best, axis=-1) * (1.0 - tolerance)
    start = np.minimum(np.median(first, axis=-1), high)
    return start + low * (high - start), high


def _levels(first: Floats, best: Floats, low: float, tolerance: float, targets: int) -> Floats:
    """Levels of throughput, such that the ladder of all runs together has `targets` of them.

    They go on below and above it, evenly spaced, as far as any run has been.
    """
    valid = best > 0.0
    if not valid.any():
        return np.ones(1)
    bottom, top = float(first[valid].min()), float(best.max())
    start, end = _ends(first[valid], best[valid], low, tolerance)
    step = math.log(end / start) / (targets - 1)
    if step <= _SLACK:
        # No run got anywhere after its first valid trial.
        return np.array([float(end)])
    most = _LONGEST * targets
    below = min(most, math.ceil(max(0.0, math.log(float(end) / bottom)) / step))
    above = min(most, math.ceil(max(0.0, math.log(top / float(end))) / step))
    levels: Floats = float(end) * np.exp(step * np.arange(-below, above + 1))
    return levels
