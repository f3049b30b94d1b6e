"""How often chance alone makes two arms differ as much as they do: relabelling tests.

A bootstrap interval over five seeds leaves out more than it says, and a gate that fails on it
would cry wolf. If the challenger were exactly as good as its limit, then its runs, with their
figures scaled by the limit, could as well have been the reference's. So the runs of both arms
are put on anew, in every possible way or in very many, and the test counts how often that
looks at least as bad. The count is exact for any number of seeds and any distribution.
Fisher 1935; Ernst 2004, Permutation Methods, https://doi.org/10.1214/088342304000000396

Runs are relabelled across seeds: five pairs can be swapped in 32 ways only, and 3% would be the
smallest probability. Common causes within a seed make the arms more alike than the relabelled-out
ones, so that the test then alarms less often than stated, never more. Where seeds differ much and
the arms of a seed little, as final kernels may, exchanging the arms of seeds sees what dealing out
does not: for throughput both are counted, exchanges by signed ranks (`signed_rank`), and the
smaller share is doubled for having had two chances. Where pairs are so few that exchanging them
shows nothing of the kind, dealing out has the only chance.

Five seeds an arm can be relabelled in 252 ways, so no figure can look less likely than 0.4%, which
would never do in a session of many gates. Where counting ends, with the worst relabelling of all,
normal theory goes on: `sharpened` asks Student's t for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pytest_ansorbench.stats.estimates import quotients
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.ranks import chance_of_ranks
from pytest_ansorbench.stats.relabellings import (
    Relabellings,
    exchanges,
    relabelled,
    share,
    swaps_tell,
)
from pytest_ansorbench.stats.running_time_ratio import expected_times
from pytest_ansorbench.stats.student import upper_tail
from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory

# Factor by which a kernel that could not be measured is slower than any that could
_LOST: Final = 1e6


def running_time_chance(
    paired: PairedRuns, spending: Spending, limit: float, level: float
) -> float:
    """Chance of a running time ratio at least as large as seen, if the true one were the limit.

    The statistic is the ratio itself, with the target derived anew from the runs that are
    relabelled to the reference.
    """
    scaled = [run.with_less(spending, limit) for run in paired.challenger]
    runs = [*paired.reference, *scaled]
    pooled = replace(paired, reference=runs, challenger=runs)
    n = len(paired.reference)

    def ratios(relabellings: Relabellings) -> Floats:
        targets_s = pooled.targets_s(relabellings[:, :n])
        return quotients(
            expected_times(runs, relabellings[:, n:], targets_s, spending),
            expected_times(runs, relabellings[:, :n], targets_s, spending),
        )

    return permutation_chance(ratios, n, n, level)


def throughput_chance(
    reference: Sequence[Trajectory],
    challenger: Sequence[Trajectory],
    limit: float,
    level: float,
) -> float:
    """Chance of a throughput ratio at most as large as seen, if the true one were the limit."""
    n = len(reference)
    logs = log_latencies(reference, challenger)
    if logs is None:
        return 1.0
    logs[n:] += math.log(limit)

    def slowdowns(relabellings: Relabellings) -> Floats:
        means: Floats = logs[relabellings[:, n:]].mean(axis=1) - logs[relabellings[:, :n]].mean(
            axis=1
        )
        return means

    by_deals = permutation_chance(slowdowns, n, n, level)
    if not swaps_tell(n, level):
        return by_deals
    by_swaps = chance_of_ranks(logs[n:] - logs[:n], *exchanges(n, level))
    return min(1.0, 2.0 * min(by_deals, by_swaps))


def log_latencies(
    reference: Sequence[Trajectory], challenger: Sequence[Trajectory]
) -> Floats | None:
    """Logarithms of the final kernels' latencies, the reference's first.

    Returns: Shape (2 * seeds,); None if there is no kernel at all. One that is missing is slower
    than all others, but no more than so, that one more that is missing counts for more.
    """
    latencies = np.array([run.final_s for run in (*reference, *challenger)])
    found = np.isfinite(latencies)
    if not found.any():
        return None
    latencies[~found] = _LOST * latencies[found].max()
    logs: Floats = np.log(latencies)
    return logs


def sharpened(
    counted: float, smallest: float, fewest: int, level: float, excess: float, error: float | None
) -> float:
    """A probability below what counting can show, for figures that look worse than any relabelling.

    Returns: `counted`, unless it is the smallest there is and still not small enough: then the tail
    of Student's t with the smaller group's degrees of freedom, if that is smaller. An infinitely
    bad figure, such as that of a challenger without a kernel, is no matter of chance: 0.
    """
    if excess == math.inf:
        return 0.0
    if level >= smallest or counted > smallest * 1.5 or error is None or fewest < 2:
        return counted
    t = excess / error if error > 0.0 else math.inf
    return min(counted, upper_tail(t, fewest - 1))


def permutation_chance(
    badness: Callable[[Relabellings], Floats], first: int, second: int, level: float
) -> float:
    """Share of the relabellings that are at least as bad as the one that was seen."""
    relabellings = relabelled(first, second, level)
    return _count(badness, first, second, relabellings, math.comb(first + second, first))


def _count(
    badness: Callable[[Relabellings], Floats],
    first: int,
    second: int,
    relabellings: Iterator[Relabellings],
    ways: int,
) -> float:
    seen = badness(np.arange(first + second)[np.newaxis, :])[0]
    # Sums in another order differ in their last digits, and ties must count.
    threshold = seen - 1e-9 * abs(seen) if np.isfinite(seen) else seen
    worse = total = 0
    for some in relabellings:
        # Relabellings that cannot be compared (NaN) count against an alarm.
        worse += int(np.sum(~(badness(some) < threshold)))
        total += len(some)
    return share(worse, total, total == ways)
