"""When each run of two arms reached each of many throughputs, and the votes of pairs of runs.

A *ladder* of targets rises over a part of the reference's gain, its rungs evenly spaced in
throughput. For each rung a run has a cost, or has missed it: it ended by itself without having been
there. A pair of runs, one of each arm, votes on each rung: the challenger was later, or earlier. A
run that missed is later than any that did not, whatever either spent; two misses are a tie. That
factor on the challenger's costs at which both votes balance is the ratio: the median of the ratios
of all pairs at all rungs, the estimate of Hodges and Lehmann.
Hodges and Lehmann 1963, https://doi.org/10.1214/aoms/1177704172

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
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns, gain_of
from pytest_ansorbench.stats.relabellings import Relabellings
from pytest_ansorbench.stats.trajectory import Floats, Spending, first_and_best

# Index of the first level of each ladder, and of the first beyond its last
Ladders = tuple[NDArray[np.intp], NDArray[np.intp]]

# Relative; a level on the end of a ladder belongs to it, and costs are equal, however rounded
_SLACK: Final = 1e-9
_NO_COST: Final = 1e-12  # in place of a cost of 0, which has no logarithm
_LEVELS: Final = 201  # half a percent of the way apart
_CHUNK: Final = 1_000_000  # weights of votes that are computed at a time


@dataclass(frozen=True, slots=True, eq=False)
class Climb:
    """Two arms of n runs each on their way up, l levels of throughput."""

    levels: Floats  # throughputs in kernel calls a second, rising, shape (l,)
    # Logarithm of the cost until a run reached a level, infinity if it missed it, the reference's
    # runs first; shape (2n, l)
    log_cost: Floats
    log_spent: Floats  # logarithm of all that each run spent, shape (2n,)
    first: Floats  # throughput of each run's first valid trial, 0 without one; shape (2n,)
    best: Floats  # throughput that each run got to; same shape
    goal: Goal  # where a ladder begins and ends
    tolerance: float  # share of throughput that a gain ends below the reference's end
    # Throughputs where the gain begins and ends, if no label decides that; see `PairedRuns`
    gain: tuple[float, float] | None = None

    @classmethod
    def of(cls, paired: PairedRuns, spending: Spending, goal: Goal) -> Climb:
        runs = [*paired.reference, *paired.challenger]
        first, best = first_and_best(runs)
        if goal.gflops is not None:
            levels = np.array([goal.gflops * 1e9 / paired.flops])
        elif paired.gain is not None:
            levels = _spaced(*paired.gain)
        else:
            levels = _levels(first, best)
        with np.errstate(divide="ignore"):  # any kernel reaches a level of 0
            spent = [run.spent((1.0 + _SLACK) / levels, spending) for run in runs]
        log_cost = np.log(np.maximum(np.stack([cost for cost, _ in spent]), _NO_COST))
        reached = np.stack([reached > 0.0 for _, reached in spent])
        in_all = [run.spent(np.zeros(1), spending)[0][0] for run in runs]
        return cls(
            levels=levels,
            log_cost=np.where(reached, log_cost, math.inf),
            log_spent=np.log(np.maximum(in_all, _NO_COST)),
            first=first,
            best=best,
            goal=goal,
            tolerance=paired.tolerance,
            gain=paired.gain,
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
        first, end = self._ends(reference)
        low, high = (first + share * (end - first) for share in (self.goal.low, self.goal.high))
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
        # Costs that are the same but for their rounding are a tie, and so are two misses.
        later = log_cost[:, np.newaxis] > log_cost[np.newaxis] + _SLACK
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
        first, end = self._ends(np.arange(n))
        gain = max(float(end - first), _NO_COST)
        votes = np.diff(self.scores(log_ratio)[n:].sum(axis=0))
        return (self.levels[start:stop] - first) / gain, votes[start:stop]

    def _ends(self, reference: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Where the gain begins and ends for each choice of the reference's runs."""
        return gain_of(self.first[reference], self.best[reference], self.tolerance, self.gain)

    def log_bound(self, endless: float) -> float:
        """What a ratio that is infinite is at least, one that is 0 at most; both as logarithms.

        By pairs of which the run of the other arm arrived: a miss counts with all that was spent.
        NaN if there is none.
        """
        n = self.repeats
        [start], [stop] = self.ladder
        cost, missed = self.log_cost[:, start:stop], np.isinf(self.log_cost[:, start:stop])
        cost = np.where(missed, self.log_spent[:, np.newaxis], cost)
        gaps = cost[n:, np.newaxis] - cost[np.newaxis, :n]
        arrived = ~missed[np.newaxis, :n] if endless > 0.0 else ~missed[n:, np.newaxis]
        found = gaps[np.broadcast_to(arrived, gaps.shape)]
        return float(np.median(found)) if len(found) else math.nan

    def gaps(self) -> Floats:
        """Log cost of each challenger's run less that of each reference run, of those that arrived.

        On all levels, each only once, rising; votes change there and nowhere else. Never empty.
        """
        n = self.repeats
        with np.errstate(invalid="ignore"):
            gaps = (self.log_cost[n:, np.newaxis] - self.log_cost[np.newaxis, :n]).ravel()
        gaps = np.sort(gaps[np.isfinite(gaps)])
        distinct: Floats = gaps[np.diff(gaps, prepend=-math.inf) > _SLACK]
        return distinct if len(distinct) else np.zeros(1)

    def log_ratios(self, drawn: Draws) -> Floats:
        """The factor at which votes balance, in each draw of seeds, as logarithm.

        Shape (draws,); infinity where at most half of the votes could ever be earlier, minus
        infinity where at most half could ever be later, NaN where no run reached any rung.
        """
        # Few seeds are drawn again and again: five in 126 ways, of 10,000 draws.
        distinct, places = np.unique(np.sort(drawn, axis=1), axis=0, return_inverse=True)
        found: Floats = self._log_ratios(distinct)[places.ravel()]
        return found

    def _log_ratios(self, drawn: Draws) -> Floats:
        n = self.repeats
        start, stop = self.ladders(drawn)
        used = slice(int(start.min()), int(stop.max()))
        cost = self.log_cost[:, used]
        with np.errstate(invalid="ignore"):
            gap = (cost[n:, np.newaxis] - cost[np.newaxis, :n]).ravel()
        votes = np.flatnonzero(~np.isnan(gap))  # two misses are none
        votes = votes[np.argsort(gap[votes], kind="stable")]
        challenger, reference, level = np.unravel_index(votes, (n, n, cost.shape[1]))
        level, gap = level + used.start, gap[votes]
        found = np.full(len(drawn), math.nan)
        if not len(votes):
            return found
        size = max(1, _CHUNK // len(votes))
        for at in range(0, len(drawn), size):
            part = slice(at, at + size)
            times = _times_drawn(drawn[part], n)
            weight = times[:, challenger] * times[:, reference]
            on_ladder = (level >= start[part, np.newaxis]) & (level < stop[part, np.newaxis])
            found[part] = _medians(gap, np.where(on_ladder, weight, 0.0))
        return found

    def mean_votes(self, drawn: Draws, log_ratio: float) -> Floats:
        """Votes that the challenger is later, less those that it is earlier, in each draw of seeds.

        Mean over pairs of runs and rungs, from -1 to 1, shape (draws,).
        """
        n = self.repeats
        own, other = self.log_cost[n:, np.newaxis] - log_ratio, self.log_cost[np.newaxis, :n]
        votes = (own > other + _SLACK).astype(float)
        votes -= other > own + _SLACK
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


def _medians(gap: Floats, weight: Floats) -> Floats:
    """The weighted median of gaps, which rise and may be infinite, in each row of weights.

    Votes that balance over a stretch do so in its middle, as for a median of an even number, or at
    its end, if the other is infinite. NaN without weight.
    """
    total, sums = weight.sum(axis=1), weight.cumsum(axis=1)
    last = len(gap) - 1
    # Weights are whole numbers: seeds are drawn a whole number of times.
    low = gap[np.minimum((sums < total[:, np.newaxis] / 2.0 - 0.25).sum(axis=1), last)]
    high = gap[np.minimum((sums < total[:, np.newaxis] / 2.0 + 0.25).sum(axis=1), last)]
    open_low, open_high = np.isinf(low), np.isinf(high)
    found: Floats = low.copy()
    with np.errstate(invalid="ignore"):
        found[open_low == open_high] = ((low + high) / 2.0)[open_low == open_high]
    found[open_low & ~open_high] = high[open_low & ~open_high]
    found[open_low & open_high & (low < high)] = 0.0  # balanced at any ratio
    found[total == 0.0] = math.nan
    return found


def _levels(first: Floats, best: Floats) -> Floats:
    """Levels of throughput, evenly spaced from the slowest first kernel to the fastest of all."""
    valid = best > 0.0
    if not valid.any():
        return np.ones(1)
    return _spaced(float(first[valid].min()), float(best.max()))


def _spaced(bottom: float, top: float) -> Floats:
    if top - bottom <= _SLACK * top:
        # No run got anywhere after its first valid trial.
        return np.array([top])
    levels: Floats = np.linspace(bottom, top, _LEVELS)
    return levels
