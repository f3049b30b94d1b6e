"""Cases as strata of a suite: what each tells of the challenger at a ratio of costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.ranks import signed_ranks
from pytest_ansorbench.stats.relabellings import Relabellings, exchanges, some_relabellings
from pytest_ansorbench.stats.throughput_ratio import left_in_place, slowdowns
from pytest_ansorbench.stats.trajectory import Floats

# What a stratum's own relabellings can tell, and their number: combinations are made of them
_OWN: Final = (0.025, 1_000)


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """One case, asked by one test."""

    # How much worse the challenger looks than at a ratio of costs, given as logarithm; 0 if just as
    # good. With labels as they are, then in each relabelling, shape (1 + relabellings,)
    badness: Callable[[float], Floats]
    # Logarithms of ratios of costs between pairs of runs: badness changes there and nowhere else
    gaps: Floats
    relabellings: int
    complete: bool  # whether these are all there are
    # What an infinite ratio is at least, one of 0 at most, as logarithms; NaN if not known
    bound: Callable[[float], float] = lambda endless: endless


def labels_of(first: int, second: int) -> tuple[Relabellings, bool]:
    """Labels of a stratum's runs, as they are and then in each relabelling; whether that is all."""
    relabellings, complete = some_relabellings(first, second, *_OWN)
    as_they_are = np.arange(first + second)[np.newaxis, :]
    return np.concatenate([as_they_are, relabellings]), complete


def search_stratum(climb: Climb) -> Stratum | None:
    """Votes a rung that the challenger is later, see `climb`; None if no run reached any rung."""
    if math.isnan(climb.log_ratio):
        return None
    labels, complete = labels_of(climb.repeats, climb.repeats)
    ladders = climb.ladders(labels[:, : climb.repeats])

    def later(log_ratio: float) -> Floats:
        return climb.lateness(climb.scores(log_ratio), labels, ladders)

    return Stratum(later, climb.gaps(), len(labels) - 1, complete, climb.log_bound)


def kernel_stratum(logs: Floats) -> Stratum:
    """Mean log latency of the challenger's kernels over the reference's.

    From log latencies, shape (2 * seeds,), the reference's first.
    """
    n = len(logs) // 2
    labels, complete = labels_of(n, n)
    slower, own = slowdowns(logs, labels), left_in_place(labels)
    gaps = (logs[n:, np.newaxis] - logs[np.newaxis, :n]).ravel()
    return Stratum(lambda log_ratio: slower - log_ratio * own, gaps, len(labels) - 1, complete)


def paired_kernel_stratum(logs: Floats) -> Stratum:
    """Signed ranks of each seed's log latency ratio, arms of seeds exchanged; from the same."""
    n = len(logs) // 2
    ways, complete = exchanges(n, *_OWN)
    signs = np.concatenate([np.ones((1, n), dtype=np.int8), ways])
    gaps = logs[n:] - logs[:n]

    def slower(log_ratio: float) -> Floats:
        ranks: Floats = signs @ signed_ranks(gaps - log_ratio)
        return ranks

    return Stratum(slower, gaps, len(ways), complete)
