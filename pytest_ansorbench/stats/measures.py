"""How the figures are computed from the runs of two arms, and what gates ask of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.estimates import widened
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.ladder import (
    ladder_chance,
    ladder_lateness,
    ladder_ratio,
    ladder_spread,
)
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.recorded import Pace
from pytest_ansorbench.stats.running_time_ratio import expected_times
from pytest_ansorbench.stats.stratum import (
    Stratum,
    kernel_stratum,
    paired_kernel_stratum,
    search_stratum,
)
from pytest_ansorbench.stats.throughput_ratio import (
    all_below,
    log_latencies,
    throughput_chance,
    throughput_ratio,
    throughput_ratios,
    throughput_spread,
    throughputs_gflops,
)
from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory


class Measure(ABC):
    """A figure that can be compared with the same figure of an earlier result."""

    @abstractmethod
    def values(self, paired: PairedRuns, drawn: Draws) -> Floats:
        """The figure in each draw of the seeds, shape (draws,)."""

    @abstractmethod
    def improved(self, run: Trajectory, factor: float) -> Trajectory:
        """A challenger's run, had its figure been better by a factor, all else the same."""

    def delay(self, paired: PairedRuns, before: Draws, after: Draws) -> Floats | None:
        """How much later the challenger is than in other draws, if that is finer than values."""
        return None

    def error(self, paired: PairedRuns) -> float:
        """Half the width that runs of another day add to the interval of its logarithm."""
        return 0.0

    def strata(self, paired: PairedRuns) -> tuple[Stratum, ...]:
        """A stratum for each test of the figure; none where there is nothing to compare."""
        return ()


class LimitedMeasure(Measure):
    """A figure that can be held to a limit, too."""

    tests: ClassVar[int] = 1  # of how many tests `chance` takes the smallest, times their number

    @abstractmethod
    def estimate(self, paired: PairedRuns, confidence: float) -> Estimate:
        """The figure with its interval."""

    @abstractmethod
    def chance(self, paired: PairedRuns, limit: float, level: float) -> float:
        """Probability to see a figure this bad, if the true one were the limit.

        The level says how small a probability matters.
        """

    @abstractmethod
    def spread(self, paired: PairedRuns) -> float | None:
        """Standard deviation of the log figure of a single pair of runs; None if unknown."""

    def one_sided(self, paired: PairedRuns, limit: float) -> bool:
        """Whether the figure of each pair of runs by itself is beyond a limit."""
        return False


@dataclass(frozen=True, slots=True)
class SearchRatio(LimitedMeasure):
    """S, S_trials or S_early: the ratio of what the arms spend until each target of a goal."""

    spending: Spending
    goal: Goal | None = None  # that of the comparison if None

    def values(self, paired: PairedRuns, drawn: Draws) -> Floats:
        ratios: Floats = np.exp(self._climb(paired).log_ratios(drawn))
        return ratios

    def improved(self, run: Trajectory, factor: float) -> Trajectory:
        return run.with_less(self.spending, factor)

    def delay(self, paired: PairedRuns, before: Draws, after: Draws) -> Floats:
        climb = self._climb(paired)
        return ladder_lateness(climb, after) - ladder_lateness(climb, before)

    def error(self, paired: PairedRuns) -> float:
        return paired.seconds_error if self.spending == "search_s" else 0.0

    def strata(self, paired: PairedRuns) -> tuple[Stratum, ...]:
        found = search_stratum(self._climb(paired))
        return () if found is None else (found,)

    def estimate(self, paired: PairedRuns, confidence: float) -> Estimate:
        return widened(ladder_ratio(self._climb(paired), confidence), self.error(paired))

    def chance(self, paired: PairedRuns, limit: float, level: float) -> float:
        return ladder_chance(self._climb(paired), limit, level)

    def spread(self, paired: PairedRuns) -> float | None:
        return ladder_spread(self._climb(paired))

    def _climb(self, paired: PairedRuns) -> Climb:
        return Climb.of(paired, self.spending, self.goal or paired.goal)


@dataclass(frozen=True, slots=True)
class ThroughputRatio(LimitedMeasure):
    """Final throughput, challenger over reference, or over a library in the place of that.

    Undefined if the library was not measured in each repeat.
    """

    tests = 2
    library: str = ""

    def values(self, paired: PairedRuns, drawn: Draws) -> Floats:
        return throughput_ratios(self._sides(paired), drawn)

    def improved(self, run: Trajectory, factor: float) -> Trajectory:
        return replace(run, final_s=run.final_s / factor)

    def strata(self, paired: PairedRuns) -> tuple[Stratum, ...]:
        logs = log_latencies(self._sides(paired))
        return () if logs is None else (kernel_stratum(logs), paired_kernel_stratum(logs))

    def estimate(self, paired: PairedRuns, confidence: float) -> Estimate:
        return throughput_ratio(self._sides(paired), confidence)

    def chance(self, paired: PairedRuns, limit: float, level: float) -> float:
        return throughput_chance(self._sides(paired), limit, level)

    def spread(self, paired: PairedRuns) -> float | None:
        return throughput_spread(self._sides(paired))

    def one_sided(self, paired: PairedRuns, limit: float) -> bool:
        return all_below(self._sides(paired), limit)

    def _sides(self, paired: PairedRuns) -> PairedRuns:
        return paired.beside(self.library) if self.library else paired


@dataclass(frozen=True, slots=True)
class CostToTarget(Measure):
    """The challenger's expected cost to the goal's last target."""

    spending: Spending

    def values(self, paired: PairedRuns, drawn: Draws) -> Floats:
        return expected_times(paired.challenger, drawn, paired.targets_s(drawn), self.spending)

    def improved(self, run: Trajectory, factor: float) -> Trajectory:
        return run.with_less(self.spending, factor)

    def error(self, paired: PairedRuns) -> float:
        return _own_error(paired) if self.spending == "search_s" else 0.0


class Throughput(Measure):
    def values(self, paired: PairedRuns, drawn: Draws) -> Floats:
        return throughputs_gflops(paired.challenger, drawn)

    def improved(self, run: Trajectory, factor: float) -> Trajectory:
        return replace(run, final_s=run.final_s / factor)


class SearchTime(Measure):
    def values(self, paired: PairedRuns, drawn: Draws) -> Floats:
        means: Floats = np.array([run.search_s[-1] for run in paired.challenger])[drawn].mean(
            axis=1
        )
        return means

    def improved(self, run: Trajectory, factor: float) -> Trajectory:
        return run.with_less("search_s", factor)

    def error(self, paired: PairedRuns) -> float:
        return _own_error(paired)


def _own_error(paired: PairedRuns) -> float:
    """That of the challenger's seconds, if it is the reference of another day."""
    return Pace.of([one.run for one in paired.challenger]).error
