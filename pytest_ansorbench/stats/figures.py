"""The figures that can be gated, one entry each.

An entry has all that a gate needs: against a limit of its own, and against the same figure of an
earlier result. Options of limits are made from this table before pytest reads its command line,
so importing it must not import NumPy: what computes is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from pytest_ansorbench.records import PEERS
from pytest_ansorbench.stats.goal import EARLY, Goal

if TYPE_CHECKING:
    from pytest_ansorbench.stats.measures import LimitedMeasure, Measure


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an arm, or of a challenger against its reference."""

    key: str  # its name in options, records and tables
    name: str  # its name in sentences
    sense: Literal["smaller", "larger"]  # whether a smaller or a larger one is better
    # `challenger` for a ratio between arms, from which the machine's speed cancels; `arm` for a
    # figure of its own
    subject: Literal["challenger", "arm"]
    measure: Callable[[], Measure]  # how it is computed; a `LimitedMeasure` if it can have a limit
    per_machine: bool = False  # whether it can be compared on one machine only
    # The option of its limit, without prefix and with dashes, from `max-` or `min-` on; empty if
    # only its change can be gated
    limit_word: str = ""
    over_cases: bool = False  # whether the cases of a suite can be added up by it
    # Whether a single case decides by it often enough to be gated (docs/research/verdicts.md)
    per_case: bool = True

    def limited(self) -> LimitedMeasure:
        """Its measure, of a figure that can have a limit."""
        from pytest_ansorbench.stats.measures import LimitedMeasure

        measure = self.measure()
        assert isinstance(measure, LimitedMeasure), self.key
        return measure

    @property
    def sign(self) -> float:
        """1 if a larger figure is worse, else -1."""
        return 1.0 if self.sense == "smaller" else -1.0

    @property
    def suite_word(self) -> str:
        """The option of a suite's limit, as `limit_word`; empty if there can be none."""
        if not self.limit_word or not self.over_cases:
            return ""
        side, _, rest = self.limit_word.partition("-")
        return f"{side}-suite-{rest}"

    @property
    def suite_keyword(self) -> str:
        """The same as settings record it."""
        return self.suite_word.replace("-", "_")


def gates_per_case(keys: Iterable[str], strategies: int) -> int:
    """How many gates a case of so many arms has: a key for each limit and allowance."""
    return sum(
        strategies if FIGURES[key].subject == "arm" else max(0, strategies - 1) for key in keys
    )


def _measure(name: str, *arguments: str | Goal) -> Callable[[], Measure]:
    """What `measures` makes by a name; it is imported when the figure is computed."""

    def made() -> Measure:
        from pytest_ansorbench.stats import measures

        measure: Measure = getattr(measures, name)(*arguments)
        return measure

    return made


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
                measure=_measure("SearchRatio", "search_s"),
                limit_word="max-search-ratio",
                over_cases=True,
                per_case=False,
            ),
            Figure(
                key="search_ratio_early",
                name="early search ratio S_early",
                sense="smaller",
                subject="challenger",
                measure=_measure("SearchRatio", "search_s", EARLY),
                limit_word="max-early-search-ratio",
                over_cases=True,
            ),
            Figure(
                key="search_ratio_trials",
                name="search ratio S_trials",
                sense="smaller",
                subject="challenger",
                measure=_measure("SearchRatio", "trials"),
                over_cases=True,
                per_case=False,
            ),
            Figure(
                key="throughput_ratio",
                name="throughput ratio",
                sense="larger",
                subject="challenger",
                measure=_measure("ThroughputRatio"),
                limit_word="min-throughput-ratio",
                over_cases=True,
            ),
            *(
                Figure(
                    key=f"over_{library.replace('-', '_')}",
                    name=f"throughput over {library}",
                    sense="larger",
                    subject="challenger",
                    measure=_measure("ThroughputRatio", library),
                    per_machine=True,
                    limit_word=f"min-over-{library}",
                )
                for library in PEERS
            ),
            Figure(
                key="trials_to_target",
                name="expected trials to the target",
                sense="smaller",
                subject="arm",
                measure=_measure("CostToTarget", "trials"),
            ),
            Figure(
                key="throughput",
                name="final throughput in GFLOP/s",
                sense="larger",
                subject="arm",
                measure=_measure("Throughput"),
                per_machine=True,
            ),
            Figure(
                key="time_to_target",
                name="expected search time to the target",
                sense="smaller",
                subject="arm",
                measure=_measure("CostToTarget", "search_s"),
                per_machine=True,
            ),
            Figure(
                key="search_time",
                name="search time of a run",
                sense="smaller",
                subject="arm",
                measure=_measure("SearchTime"),
                per_machine=True,
            ),
        )
    }
)
