"""One figure over the cases of a suite: the ratio that fits all of them, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_ansorbench.records import Bound, Estimate
from pytest_ansorbench.stats.estimates import UNDEFINED, inverse, widened
from pytest_ansorbench.stats.figures import Figure
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import ONE_ERROR
from pytest_ansorbench.stats.strata import Strata


@dataclass(frozen=True, slots=True, eq=False)
class SuiteTest:
    """The runs of two arms on several cases, asked for one figure."""

    figure: Figure
    # Tests of the same ratio; the first says where it is. The smallest probability of all counts,
    # times their number
    tests: tuple[Strata, ...]
    repeats: int  # seeds of the case that has fewest
    lost: tuple[int, ...]  # indices of the pairings that have nothing to compare
    # Half the width that runs of another day add to the interval of its logarithm, as much as to
    # that of the case where it is largest; `chance` leaves it out
    error: float = 0.0

    @classmethod
    def of(cls, figure: Figure, pairings: Sequence[PairedRuns]) -> SuiteTest:
        """Put the pairs of runs of several cases together, at least one."""
        measure = figure.measure()
        strata = [measure.strata(paired) for paired in pairings]
        lost = tuple(index for index, kinds in enumerate(strata) if not kinds)
        found = [kinds for kinds in strata if kinds]
        tests = tuple(Strata(kind) for kind in zip(*found, strict=True))
        repeats = min(len(paired.reference) for paired in pairings)
        return cls(figure, tests, repeats, lost, max(map(measure.error, pairings)))

    def ratio(self) -> Estimate:
        """The common ratio without its interval; undefined if there is nothing to compare."""
        at = self._log_ratio()
        return UNDEFINED if at is None else self._told(at, -math.inf, math.inf)

    def estimate(self, confidence: float) -> Estimate:
        """The common ratio with its interval; undefined if there is nothing to compare."""
        at, tail = self._log_ratio(), (1.0 - confidence) / 2.0
        if at is None:
            return UNDEFINED
        tests = self._telling(tail)
        ends = [test.interval(at, tail / len(tests)) for test in tests]
        return self._told(at, max(low for low, _ in ends), min(high for _, high in ends))

    def _log_ratio(self) -> float | None:
        at = self.tests[0].log_ratio() if self.tests else math.nan
        return None if math.isnan(at) else at

    def _told(self, at: float, low: float, high: float) -> Estimate:
        """Logarithms of the challenger's cost over the reference's, as the figure has them."""
        bound: Bound = "value" if math.isfinite(at) else "at-least" if at > 0.0 else "at-most"
        if math.isinf(at):
            at = float(np.nanmedian([stratum.bound(at) for stratum in self.tests[0].strata]))
        low, high = min(low, at), max(high, at)
        one = Estimate(math.exp(at), math.exp(low), math.exp(high), bound)
        return widened(one if self.figure.sense == "smaller" else inverse(one), self.error)

    def chance(self, limit: float, level: float) -> float:
        """Probability to see a figure this bad, if the true one were a limit."""
        tests = self._telling(level)
        log_limit = math.log(limit) if self.figure.sense == "smaller" else -math.log(limit)
        chances = [test.chance(log_limit, level / len(tests)) for test in tests]
        return min(1.0, len(tests) * min(chances))

    def smallest_chance(self, level: float) -> float:
        """The smallest probability that `chance` can show."""
        tests = self._telling(level)
        return len(tests) * min((test.smallest_chance for test in tests), default=1.0)

    def spread(self) -> float | None:
        """Standard deviation of the log figure of one pair of runs a case.

        From the interval that a normal distribution has one standard error to either side of.
        """
        one = replace(self, error=0.0).estimate(ONE_ERROR)
        if one.bound != "value" or not 0.0 < one.low < one.high < math.inf:
            return None
        return math.log(one.high / one.low) / 2.0 * math.sqrt(self.repeats)

    @property
    def cases(self) -> int:
        """How many cases it stands on, at least 1."""
        return max(1, len(self.tests[0].strata)) if self.tests else 1

    def _telling(self, level: float) -> Sequence[Strata]:
        """The tests that can show their share of a level; the first in any case."""
        share = level / max(1, len(self.tests))
        return [
            test
            for index, test in enumerate(self.tests)
            if index == 0 or test.smallest_chance <= share
        ]
