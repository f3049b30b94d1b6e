"""Cases as strata of a suite: what each tells of the challenger at a ratio of costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.ranks import signed_ranks
from pytest_ansorbench.stats.relabellings import Relabellings, Signs, exchanges, some_relabellings
from pytest_ansorbench.stats.stall import rank_sums
from pytest_ansorbench.stats.trajectory import Floats, Spending

# What a stratum's own relabellings can tell, and their number: combinations are made of them
_OWN: Final = (0.025, 1_000)


def labels_of(first: int, second: int) -> tuple[Relabellings, bool]:
    """Labels of a stratum's runs: as they are, then relabelled.

    Returns: Indices of runs, those called the first arm's in front, shape (1 + relabellings, runs);
    and whether these relabellings are all there are.
    """
    relabellings, complete = some_relabellings(first, second, *_OWN)
    as_they_are = np.arange(first + second)[np.newaxis, :]
    return np.concatenate([as_they_are, relabellings]), complete


@dataclass(frozen=True, slots=True, eq=False)
class SearchStratum:
    """Votes over the way that the challenger is later; see `climb`."""

    climb: Climb  # the runs
    labels: Relabellings  # as they are, then in each relabelling
    ladders: tuple[NDArray[np.intp], NDArray[np.intp]]  # the ladder of each of these
    complete: bool  # whether these relabellings are all there are

    @classmethod
    def of(cls, paired: PairedRuns, spending: Spending) -> SearchStratum | None:
        """None if no run of either arm reached any target of the reference's ladder."""
        climb = Climb.of(paired, spending)
        if math.isnan(climb.log_ratio):
            return None
        labels, complete = labels_of(climb.repeats, climb.repeats)
        return cls(climb, labels, climb.ladders(labels[:, : climb.repeats]), complete)

    @property
    def relabellings(self) -> int:
        """How many relabellings it has."""
        return len(self.labels) - 1

    @property
    def gaps(self) -> Floats:
        """Of all pairs of runs on the ladder."""
        return self.climb.gaps()

    def badness(self, log_ratio: float) -> Floats:
        """Votes a rung; see `Stratum`."""
        return self.climb.lateness(self.climb.scores(log_ratio), self.labels, self.ladders)


@dataclass(frozen=True, slots=True, eq=False)
class KernelStratum:
    """Mean log latency of the challenger's kernels over the reference's, labels relabelled."""

    slower: Floats  # of the labels as they are, then of the relabellings, at equal costs
    own: Floats  # the challenger's share in the group that is called slower, less that in the other
    gaps: Floats  # log ratios of latency between all runs of the arms
    complete: bool  # whether the relabellings are all there are

    @classmethod
    def of(cls, logs: Floats) -> KernelStratum:
        """From log latencies, shape (2 * seeds,), the reference's first."""
        n = len(logs) // 2
        labels, complete = labels_of(n, n)
        first, second = labels[:, :n], labels[:, n:]
        return cls(
            slower=logs[second].mean(axis=1) - logs[first].mean(axis=1),
            own=(second >= n).mean(axis=1) - (first >= n).mean(axis=1),
            gaps=(logs[n:, np.newaxis] - logs[np.newaxis, :n]).ravel(),
            complete=complete,
        )

    @property
    def relabellings(self) -> int:
        """How many relabellings it has."""
        return len(self.slower) - 1

    def badness(self, log_ratio: float) -> Floats:
        """Difference of mean log latencies; see `Stratum`."""
        found: Floats = self.slower - log_ratio * self.own
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PairedKernelStratum:
    """Signed ranks of the log latency ratio of each seed's kernels, arms of seeds exchanged."""

    gaps: Floats  # log latency of the challenger's kernel less that of the reference's, by seed
    signs: Signs  # the arms as they are, then exchanged
    complete: bool  # whether these exchanges are all there are

    @classmethod
    def of(cls, logs: Floats) -> PairedKernelStratum:
        """From log latencies, shape (2 * seeds,), the reference's first, seeds in order."""
        n = len(logs) // 2
        signs, complete = exchanges(n, *_OWN)
        as_they_are = np.ones((1, n), dtype=np.int8)
        return cls(logs[n:] - logs[:n], np.concatenate([as_they_are, signs]), complete)

    @property
    def relabellings(self) -> int:
        """How many exchanges it has."""
        return len(self.signs) - 1

    def badness(self, log_ratio: float) -> Floats:
        """Sum of signed ranks; see `Stratum`."""
        found: Floats = self.signs @ signed_ranks(self.gaps - log_ratio)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class EndStratum:
    """How far behind the challenger ends, whatever its costs; see `stall`."""

    behind: Floats  # of the labels as they are, then of the relabellings
    complete: bool  # whether these relabellings are all there are

    @classmethod
    def of(cls, paired: PairedRuns) -> EndStratum:
        """Read the ends of a paired's runs."""
        n = len(paired.reference)
        labels, complete = labels_of(n, n)
        return cls(-rank_sums(paired)[labels[:, n:]].sum(axis=1), complete)

    @property
    def relabellings(self) -> int:
        """How many relabellings it has."""
        return len(self.behind) - 1

    @property
    def gaps(self) -> Floats:
        """None: costs do not matter."""
        return np.zeros(1)

    def badness(self, log_ratio: float) -> Floats:
        """Sum of ranks, for any ratio of costs."""
        return self.behind
