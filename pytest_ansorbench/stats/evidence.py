"""The evidence of runs on one figure: all that a gate asks for.

A figure of one result is compared with a limit, its change since an earlier result with an
allowance. Both give the same kind of evidence, so one function judges both (`gate`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import draw, percentile_interval
from pytest_ansorbench.stats.estimates import UNDEFINED, around, quotient, quotients, widened
from pytest_ansorbench.stats.figures import Figure
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import FEWEST_REPEATS
from pytest_ansorbench.stats.relabellings import (
    Relabellings,
    fewest_repeats,
    permutation_chance,
    sharpened,
    smallest_chance,
)
from pytest_ansorbench.stats.suite_test import SuiteTest
from pytest_ansorbench.stats.trajectory import Floats

_MOSTLY: Final = 0.95  # share of draws with a figure from which on the others do not matter


@dataclass(frozen=True, slots=True)
class Evidence:
    estimate: Estimate  # the figure with its interval
    repeats: int  # seeds that it stands on; of two results, those of the later one
    # Probability by counting to see a figure this bad if the true one were the given limit;
    # second, how small a probability matters
    counted: Callable[[float, float], float]
    smallest: float  # the smallest probability that counting can show
    # Standard deviation of the log figure of a single pair of runs, of two results in the later
    # one; None if too little is known
    spread: Callable[[], float | None]
    endless_by_chance: bool = False  # whether chance alone can make the figure 0 or infinite
    # Whether each pair of runs is beyond a limit, so that no exchange within pairs looks worse
    one_sided: Callable[[float], bool] = lambda limit: False
    fewest_repeats: int = 2  # seeds below which there is no interval
    cases: int = 1  # how many cases it stands on
    # Half the width that runs of another day add to the interval of the figure's logarithm
    error: float = 0.0
    # Of two results: the seeds of the earlier one, which get no more, and the standard error of its
    # log figure; infinity if it has a single seed, which tells none
    earlier: int | None = None
    fixed: Callable[[], float] = lambda: 0.0

    def chance(self, figure: Figure, limit: float, level: float) -> float:
        """Probability to see a figure this bad, if the true one were a limit give or take error."""
        limit *= math.exp(figure.sign * self.error)
        value, counted = self.estimate.value, self.counted(limit, level)
        if self.endless_by_chance and not 0.0 < value < math.inf:
            return counted
        above = (math.log(value) if value > 0.0 else -math.inf) - math.log(limit)
        excess = figure.sign * above
        spread = self.spread()
        standard_error = None if spread is None else self.standard_error(spread, self.repeats)
        smallest = max(self.smallest, counted) if self.one_sided(limit) else self.smallest
        fewest = min(self.repeats, self.earlier or self.repeats)
        return sharpened(counted, smallest, fewest, level, excess, standard_error)

    def standard_error(self, spread: float, repeats: int) -> float:
        """Standard error of the figure's logarithm; `spread` is that of a single pair of runs."""
        return math.hypot(self.fixed(), spread / math.sqrt(repeats))


def limit_evidence(
    figure: Figure, paired: PairedRuns, estimate: Estimate, confidence: float
) -> Evidence:
    measure, repeats = figure.limited(), len(paired.reference)
    return Evidence(
        estimate,
        repeats,
        counted=lambda limit, level: measure.chance(paired, limit, level),
        smallest=measure.tests * smallest_chance(repeats, repeats),
        spread=cache(lambda: measure.spread(paired)),
        # That a winner could not be measured can be an accident, that none could is none.
        endless_by_chance=any(math.isfinite(run.final_s) for run in paired.challenger),
        one_sided=lambda limit: measure.one_sided(paired, limit),
        fewest_repeats=fewest_repeats((1.0 - confidence) / 2.0),
        error=measure.error(paired),
    )


def suite_evidence(test: SuiteTest, estimate: Estimate, confidence: float) -> Evidence:
    """Evidence of several cases on a figure that has a limit."""
    return Evidence(
        estimate,
        test.repeats,
        counted=test.chance,
        smallest=test.smallest_chance(1.0),
        spread=cache(test.spread),
        fewest_repeats=fewest_repeats((1.0 - confidence) / 2.0, cases=test.cases),
        cases=test.cases,
        error=test.error,
    )


def change_evidence(
    figure: Figure, before: PairedRuns, after: PairedRuns, confidence: float
) -> Evidence:
    """Evidence on the change of a figure between two results, after over before.

    The two results are independent samples, so each side's seeds are drawn by themselves.
    """
    first, second = len(before.reference), len(after.reference)
    fewest, measure = min(first, second), figure.measure()
    values, error = measure.values, measure.error(before) + measure.error(after)
    old = values(before, draw(first, stream=0))
    ratios = quotients(values(after, draw(second, stream=1)), old)
    value = quotient(observed(figure, after), observed(figure, before))

    @cache
    def fixed() -> float:
        return math.inf if first < 2 else _standard_error(old, fewest) or 0.0

    @cache
    def spread() -> float | None:
        both = _standard_error(ratios, fewest)
        return None if both is None else math.sqrt(second * max(0.0, both**2 - fixed() ** 2))

    return Evidence(
        widened(_estimate(value, ratios, fewest, confidence), error),
        second,
        counted=lambda limit, level: _change_chance(figure, before, after, limit, level),
        smallest=smallest_chance(first, second),
        spread=spread,
        # That no run of a side reached a target can well be an accident.
        endless_by_chance=True,
        error=error,
        earlier=first,
        fixed=fixed,
    )


def observed(figure: Figure, paired: PairedRuns) -> float:
    """The figure of the runs as they were, not resampled."""
    as_they_were = np.arange(len(paired.reference))[np.newaxis, :]
    return float(figure.measure().values(paired, as_they_were)[0])


def as_one(figure: Figure, before: PairedRuns, after: PairedRuns, factor: float) -> PairedRuns:
    """The repeats of two results as those of one, had the later figure been better by a factor."""
    measure = figure.measure()
    improved = [measure.improved(run, factor) for run in after.challenger]
    return replace(
        before,
        reference=[*before.reference, *after.reference],
        challenger=[*before.challenger, *improved],
    )


def _estimate(value: float, ratios: Floats, repeats: int, confidence: float) -> Estimate:
    if math.isnan(value):
        return UNDEFINED
    return around(value, *percentile_interval(ratios, repeats, confidence, samples=2))


def _standard_error(figures: Floats, repeats: int) -> float | None:
    """Standard error of the figure's logarithm by draws of seeds; None if few draws have one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(figures)
    known = logs[np.isfinite(logs)]
    if repeats < FEWEST_REPEATS or len(known) < _MOSTLY * len(logs):
        return None
    return float(known.std()) * math.sqrt(repeats / (repeats - 1))


def _change_chance(
    figure: Figure, before: PairedRuns, after: PairedRuns, limit: float, level: float
) -> float:
    """Chance to see a change this bad, if the true one were the limit."""
    both = as_one(figure, before, after, limit if figure.sense == "smaller" else 1.0 / limit)
    first, measure = len(before.reference), figure.measure()

    def worsening(labels: Relabellings) -> Floats:
        then, now = labels[:, :first], labels[:, first:]
        delay = measure.delay(both, then, now)
        if delay is not None:
            return delay
        old, new = measure.values(both, then), measure.values(both, now)
        return quotients(new, old) if figure.sense == "smaller" else quotients(old, new)

    return permutation_chance(worsening, first, len(after.reference), level)
