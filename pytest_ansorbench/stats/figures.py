"""The figures that can be gated, one entry each.

An entry has all that a gate needs: against a limit of its own, and against the same figure of an
earlier result. Options of limits are made from this table before pytest reads its command line,
so importing it must not import NumPy: what computes is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pytest_ansorbench.records import Estimate
    from pytest_ansorbench.stats.bootstrap import Draws
    from pytest_ansorbench.stats.goal import Goal
    from pytest_ansorbench.stats.paired_runs import PairedRuns
    from pytest_ansorbench.stats.stall import EarlyOnly
    from pytest_ansorbench.stats.strata import Stratum
    from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory

Sense = Literal["smaller", "larger"]  # which side of a limit is the good one


@dataclass(frozen=True, slots=True)
class LimitTest:
    """How a figure is held against a limit that users set."""

    word: str  # the limit's option, without prefix and with dashes, from `max-` or `min-` on
    # The figure with its interval of the given confidence
    estimate: Callable[[PairedRuns, float], Estimate]
    # Probability by a permutation test to see a figure this bad, if the true one were the given
    # limit; last, how small a probability matters
    chance: Callable[[PairedRuns, float, float], float]
    # Standard deviation of the log figure of a single pair of runs; None if too little is known
    spread: Callable[[PairedRuns], float | None]
    tests: int = 1  # how many tests `chance` takes the smallest probability of, and multiplies by
    # What shows that a figure within the limit is so for the early targets alone; None if nothing
    # does
    early: Callable[[PairedRuns, float], EarlyOnly | None] = lambda paired, limit: None


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an arm, or of a challenger against its reference."""

    key: str  # its name in options, records and tables
    name: str  # its name in sentences
    sense: Sense  # whether a smaller or a larger one is better
    # `challenger` for a ratio between arms, from which the machine's speed cancels; `arm` for a
    # figure of its own
    subject: Literal["challenger", "arm"]
    per_machine: bool  # whether it can be compared on one machine only
    # The figure in each draw of a paired's seeds, shape (draws,)
    values: Callable[[PairedRuns, Draws], Floats]
    # A run whose figure is better by a factor, all else the same: smaller figures are divided by
    # it, larger ones multiplied
    improved: Callable[[Trajectory, float], Trajectory]
    # How bad it is in each draw, for the test of a change, where that is finer than the figure;
    # shape (draws,)
    lateness: Callable[[PairedRuns, Draws], Floats] | None = None
    # How it is held against a limit; None if only its change can be gated
    limit: LimitTest | None = None
    # What a paired tells as a case of a suite, a stratum for each test of the figure; none where
    # there is nothing to compare. None if cases cannot be added up by it
    strata: Callable[[PairedRuns], tuple[Stratum, ...]] | None = None
    # Whether it is counted to the goal's targets; cases add up over a ladder of them, not to a
    # single one
    by_goal: bool = False
    # Whether it is a ratio of seconds of search, which runs of another day blur
    in_seconds: bool = False

    def adds_up(self, goal: Goal) -> bool:
        """Whether cases can be added up by it: times to a single target cannot."""
        return self.strata is not None and (goal.kind == "way" or not self.by_goal)

    @property
    def suite_word(self) -> str:
        """The option of a suite's limit, as `LimitTest.word`; empty if there can be none."""
        if self.limit is None or self.strata is None:
            return ""
        side, _, rest = self.limit.word.partition("-")
        return f"{side}-suite-{rest}"

    @property
    def suite_keyword(self) -> str:
        """The same as settings record it."""
        return self.suite_word.replace("-", "_")


def gates_per_case(keys: Iterable[str], strategies: int) -> int:
    """How many gates a case has."""
    return sum(
        strategies if FIGURES[key].subject == "arm" else max(0, strategies - 1) for key in keys
    )


def _search_ratios(spending: Spending) -> Callable[[PairedRuns, Draws], Floats]:
    def values(paired: PairedRuns, drawn: Draws) -> Floats:
        from pytest_ansorbench.stats.search_ratio import search_ratios

        return search_ratios(paired, drawn, spending)

    return values


def _lateness(spending: Spending) -> Callable[[PairedRuns, Draws], Floats]:
    def values(paired: PairedRuns, drawn: Draws) -> Floats:
        from pytest_ansorbench.stats.search_ratio import search_lateness

        return search_lateness(paired, drawn, spending)

    return values


def _search_strata(spending: Spending) -> Callable[[PairedRuns], tuple[Stratum, ...]]:
    def strata(paired: PairedRuns) -> tuple[Stratum, ...]:
        from pytest_ansorbench.stats.stratum import SearchStratum

        found = SearchStratum.of(paired, spending)
        return () if found is None else (found,)

    return strata


def _kernel_strata(paired: PairedRuns) -> tuple[Stratum, ...]:
    from pytest_ansorbench.stats.permutation_tests import log_latencies
    from pytest_ansorbench.stats.stratum import KernelStratum, PairedKernelStratum

    logs = log_latencies(paired.reference, paired.challenger)
    return () if logs is None else (KernelStratum.of(logs), PairedKernelStratum.of(logs))


def _to_target(spending: Spending) -> Callable[[PairedRuns, Draws], Floats]:
    def values(paired: PairedRuns, drawn: Draws) -> Floats:
        from pytest_ansorbench.stats.running_time_ratio import expected_times

        return expected_times(paired.challenger, drawn, paired.targets_s(drawn), spending)

    return values


def _search_times(paired: PairedRuns, drawn: Draws) -> Floats:
    from pytest_ansorbench.stats.running_time_ratio import mean_search_times

    return mean_search_times(paired.challenger, drawn)


def _throughput_ratios(paired: PairedRuns, drawn: Draws) -> Floats:
    from pytest_ansorbench.stats.throughput_ratio import throughput_ratios

    return throughput_ratios(paired.reference, paired.challenger, drawn)


def _throughputs(paired: PairedRuns, drawn: Draws) -> Floats:
    from pytest_ansorbench.stats.throughput_ratio import throughputs_gflops

    return throughputs_gflops(paired.challenger, drawn)


def _less(spending: Spending) -> Callable[[Trajectory, float], Trajectory]:
    return lambda run, factor: run.with_less(spending, factor)


def _faster(run: Trajectory, factor: float) -> Trajectory:
    return replace(run, final_s=run.final_s / factor)


def _search_limit(word: str, spending: Spending) -> LimitTest:
    def estimate(paired: PairedRuns, confidence: float) -> Estimate:
        from pytest_ansorbench.stats.search_ratio import search_ratio

        return search_ratio(paired, spending, confidence)

    def chance(paired: PairedRuns, limit: float, level: float) -> float:
        from pytest_ansorbench.stats.search_ratio import search_ratio_chance

        return search_ratio_chance(paired, spending, limit, level)

    def spread(paired: PairedRuns) -> float | None:
        from pytest_ansorbench.stats.power import search_spread

        return search_spread(paired, spending)

    def early(paired: PairedRuns, limit: float) -> EarlyOnly | None:
        from pytest_ansorbench.stats.stall import early_only

        return early_only(paired, spending, limit)

    return LimitTest(word, estimate, chance, spread, early=early)


def _throughput_limit(word: str) -> LimitTest:
    def estimate(paired: PairedRuns, confidence: float) -> Estimate:
        from pytest_ansorbench.stats.throughput_ratio import throughput_ratio

        return throughput_ratio(paired.reference, paired.challenger, confidence)

    def chance(paired: PairedRuns, limit: float, level: float) -> float:
        from pytest_ansorbench.stats.permutation_tests import throughput_chance

        return throughput_chance(paired.reference, paired.challenger, limit, level)

    def spread(paired: PairedRuns) -> float | None:
        from pytest_ansorbench.stats.power import throughput_spread

        return throughput_spread(paired)

    return LimitTest(word, estimate, chance, spread, tests=2)


# By key. Ratios between arms come first: they hold on any machine.
FIGURES: Final[Mapping[str, Figure]] = MappingProxyType(
    {
        figure.key: figure
        for figure in (
            Figure(
                key="search_ratio",
                name="search ratio S",
                sense="smaller",
                subject="challenger",
                per_machine=False,
                values=_search_ratios("search_s"),
                improved=_less("search_s"),
                lateness=_lateness("search_s"),
                limit=_search_limit("max-search-ratio", "search_s"),
                strata=_search_strata("search_s"),
                by_goal=True,
                in_seconds=True,
            ),
            Figure(
                key="search_ratio_trials",
                name="search ratio S_trials",
                sense="smaller",
                subject="challenger",
                per_machine=False,
                values=_search_ratios("trials"),
                improved=_less("trials"),
                lateness=_lateness("trials"),
                strata=_search_strata("trials"),
                by_goal=True,
            ),
            Figure(
                key="throughput_ratio",
                name="throughput ratio",
                sense="larger",
                subject="challenger",
                per_machine=False,
                values=_throughput_ratios,
                improved=_faster,
                limit=_throughput_limit("min-throughput-ratio"),
                strata=_kernel_strata,
            ),
            Figure(
                key="trials_to_target",
                name="expected trials to the target",
                sense="smaller",
                subject="arm",
                per_machine=False,
                values=_to_target("trials"),
                improved=_less("trials"),
            ),
            Figure(
                key="throughput",
                name="final throughput in GFLOP/s",
                sense="larger",
                subject="arm",
                per_machine=True,
                values=_throughputs,
                improved=_faster,
            ),
            Figure(
                key="time_to_target",
                name="expected search time to the target",
                sense="smaller",
                subject="arm",
                per_machine=True,
                values=_to_target("search_s"),
                improved=_less("search_s"),
            ),
            Figure(
                key="search_time",
                name="search time of a run",
                sense="smaller",
                subject="arm",
                per_machine=True,
                values=_search_times,
                improved=_less("search_s"),
            ),
        )
    }
)
