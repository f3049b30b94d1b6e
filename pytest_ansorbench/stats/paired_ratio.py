"""The ratio of two latencies that were measured side by side, from pairs of neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, stdev
from typing import Final

from pytest_ansorbench.records import Remeasurement

_Z: Final = 1.96
"""Of the normal distribution, for 95%."""


@dataclass(frozen=True, slots=True)
class NeighbourRatios:
    """Logarithms of the ratio of two programs' latencies, one of each turn.

    Attributes:
        logs: Per set of processes, of its turns; each set has at least one.
    """

    logs: Sequence[Sequence[float]]

    @classmethod
    def of(cls, numerator: Remeasurement, denominator: Remeasurement) -> NeighbourRatios | None:
        """Pair the slices of two programs by set and turn.

        Returns:
            The pairs; None if the two were not measured in slices, or not in the same ones.
        """
        if not numerator.sets or numerator.sets != denominator.sets:
            return None
        logs: dict[int, list[float]] = {}
        for number, one_s, other_s in zip(
            numerator.sets, numerator.latencies_s, denominator.latencies_s, strict=True
        ):
            logs.setdefault(number, []).append(math.log(one_s / other_s))
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

        Between order statistics, whatever the distribution: the sign test's interval, see
        https://en.wikipedia.org/wiki/Median_test. Infinity below 6 pairs, which have no such
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
        between = _Z * stdev(median(logs) for logs in self.logs) / math.sqrt(sets)
        return max(within, between)


def _median_half_width(values: Sequence[float]) -> float:
    n = len(values)
    below = math.floor((n - _Z * math.sqrt(n)) / 2)  # order statistics from 0: below, n - 1 - below
    if n < 6 or below < 0:
        return math.inf
    ordered = sorted(values)
    return (ordered[n - 1 - below] - ordered[below]) / 2
