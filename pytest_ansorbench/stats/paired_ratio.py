"""The ratio of two latencies that were measured side by side, from pairs of neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median, stdev
from typing import Final, Protocol

Z95: Final = 1.96  # of the normal distribution, for 95%


class Sliced(Protocol):
    """A program measured in slices, such as a `Remeasurement`."""

    @property
    def latencies_s(self) -> Sequence[float]: ...

    @property
    def sets(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class NeighbourRatios:
    """Logarithms of the ratio of two programs' latencies, one of each turn."""

    logs: Sequence[Sequence[float]]  # per set of processes, of its turns; each set has at least one

    @classmethod
    def of(cls, numerator: Sliced, denominator: Sliced) -> NeighbourRatios | None:
        """Pair slices by set and turn; None if the two were not measured in the same slices."""
        if not numerator.sets or numerator.sets != denominator.sets:
            return None
        logs: dict[int, list[float]] = {}
        ratios = log_ratios(numerator.latencies_s, denominator.latencies_s)
        for number, log in zip(numerator.sets, ratios, strict=True):
            logs.setdefault(number, []).append(log)
        return cls(tuple(logs.values()))

    @property
    def log_ratio(self) -> float:
        """The median over the sets of each set's median.

        A disturbance that meets one slice of a pair spoils that pair alone, and a set of
        processes that is off as a whole, as one in fourteen of a kernel of 4 us was by 0.32,
        spoils that set alone: medians shrug off both.
        """
        return median(median(logs) for logs in self.logs)

    def last_half_width(self) -> float:
        """Half the width of the 95% interval of the median of the last set's pairs.

        Between order statistics, whatever the distribution, see
        https://online.stat.psu.edu/stat415/lesson/19. Infinity below 6 pairs, which have no such
        interval.
        """
        return _median_half_width(self.logs[-1])

    def half_width(self) -> float:
        """Half the width of an interval of `log_ratio`, good enough to decide when to stop.

        The larger one of what the pairs say within the sets and of what the sets say between
        them, which includes whatever belongs to a process for as long as it lives.
        """
        sets = len(self.logs)
        within = math.sqrt(sum(_median_half_width(logs) ** 2 for logs in self.logs)) / sets
        if sets < 2:
            return within
        between = Z95 * stdev(median(logs) for logs in self.logs) / math.sqrt(sets)
        return max(within, between)


def log_ratios(numerators_s: Sequence[float], denominators_s: Sequence[float]) -> list[float]:
    return [math.log(a / b) for a, b in zip(numerators_s, denominators_s, strict=True)]


def _median_half_width(values: Sequence[float]) -> float:
    outside = _left_outside(len(values))
    if not outside:
        return math.inf
    ordered = sorted(values)
    return (ordered[-outside] - ordered[outside - 1]) / 2


@cache
def _left_outside(values: int) -> int:
    """The rank, from 1, of the end of a median's interval, counted from either end; 0 for none.

    The median is below the value of rank k if fewer than k of all values are below the median. Of
    the `2**values` ways to lie below or above it, those are to be no more than one in 40.
    """
    rank, ways, fewer = 0, 1, 1
    while 40 * fewer <= 2**values:
        ways = ways * (values - rank) // (rank + 1)
        fewer += ways
        rank += 1
    return rank
