"""A strategy: a name and a choice of policies, one for each thing a search decides.

A policy is a frozen dataclass that holds parameters and no state. Its `start` makes the object
that does the work for one run, so that nothing of one run leaks into another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from pytest_ansorbench.measure.policy import FixedMeasurement, Measurement
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.strategies.cost_model import CostModelPolicy, XGBoostModel
from pytest_ansorbench.strategies.errors import (
    require_at_least,
    require_kind_or_none,
    require_method,
    require_positive,
    require_share,
)
from pytest_ansorbench.strategies.proposer import ProposerPolicy
from pytest_ansorbench.strategies.scheduling import TaskScheduler
from pytest_ansorbench.strategies.space_policy import SpacePolicy, TargetSpace

# Half a percent, or five seconds.
_BRIEF: Final = SideBySide(precision=0.005, turns=Span(10, 30), sets=Span(2, 2), most_s=5.0)


@dataclass(frozen=True)
class BuildLimit:
    """A program may compile for as long as some dozens of others.

    Most programs of a case compile in about the same time. A few unroll into bodies that keep LLVM
    busy for half a minute, and of these nearly all are slow. Given up early, such a program costs
    a search what a round costs, and not what all its rounds do. It counts as a trial that failed,
    with the status `build-timeout`.

    The engine has a limit as well (`--ansor-build-timeout`), the same for all strategies, which
    this one never exceeds.

    Attributes:
        times: Median compile time of the run's programs so far that one may take.
        least_s: Seconds that one may take however short the others were.
        first_s: Seconds that one may take while fewer than `after` programs were compiled.
        after: Programs whose median is known well enough.
    """

    times: float = 32.0
    least_s: float = 2.0
    first_s: float = 5.0
    after: int = 4

    def __post_init__(self) -> None:
        require_positive(self, "times", "least_s", "first_s")
        require_at_least(self, 1, "after")

    def limit_s(self, build_s: Sequence[float]) -> float:
        """Seconds that the next programs may take.

        Args:
            build_s: What each program of the run so far took, given up or not.
        """
        if len(build_s) < self.after:
            return self.first_s
        return max(self.least_s, self.times * median(build_s))


@dataclass(frozen=True)
class LastCheck:
    """When a search has spent its trials: the fastest few again, side by side, on its clock.

    Of many trials the one with the best latency is often one that was lucky. Measured against
    each other in slices, in turn, luck goes by. The fastest trial stays the winner unless another
    one is clearly faster: the interval of their ratio excludes 1.

    Attributes:
        top: Programs to compare, of each task; at least 2.
        within: Latency over the task's best, less 1, up to which a program is compared: what
            looked slower than that is slower.
        share: Share of the search time so far after which no further task is begun. The task
            that takes most of the case's time comes first, and is always checked.
        effort: How long they run.

    Raises:
        ValueError: A number is out of range.
    """

    top: int = 5
    within: float = 0.1
    share: float = 0.05
    effort: SideBySide = _BRIEF

    def __post_init__(self) -> None:
        require_at_least(self, 2, "top")
        require_share(self, "within", "share")


@dataclass(frozen=True)
class Strategy:
    """A search: its name in tables and its policies, each stock unless said otherwise.

    Two strategies that differ in one policy differ in nothing else; that is what makes an
    ablation of them worth reading.

    Attributes:
        name: Lower-case name, as `--ansor-strategy` takes it.
        proposer: How candidates are chosen.
        cost_model: What scores candidates before measurement.
        measurement: How long a candidate is run.
        build_limit: When a candidate that compiles for long is given up; None for when the engine
            says so.
        description: One line for listings.
        last_check: How the fastest few are compared before the run names its winner; None for
            no such check.
        scheduler: Which task of a network comes next; None for what the session says.
        space: Which sketches there are to choose from, and how programs are made of them.

    Raises:
        ValueError: A policy lacks its protocol's method, or `last_check` or `build_limit` is none.
    """

    name: str
    proposer: ProposerPolicy
    cost_model: CostModelPolicy = field(default_factory=XGBoostModel)
    measurement: Measurement = field(default_factory=FixedMeasurement)
    description: str = ""
    last_check: LastCheck | None = None
    scheduler: TaskScheduler | None = None
    build_limit: BuildLimit | None = None
    space: SpacePolicy = field(default_factory=TargetSpace)

    def __post_init__(self) -> None:
        require_method(self, "proposer", "start", example="StockEvolution()")
        require_method(self, "cost_model", "start", example="XGBoostModel()")
        require_method(self, "measurement", "measure", example="FixedMeasurement()")
        require_method(self, "space", "start", example="TargetSpace()")
        if self.scheduler is not None:
            require_method(self, "scheduler", "next_task", example="GradientScheduler()")
        require_kind_or_none(self, last_check=LastCheck, build_limit=BuildLimit)


def control_of(reference: Strategy) -> Strategy:
    """The reference under another name: a comparison of the two shows nothing but noise."""
    return replace(
        reference,
        name=f"{reference.name}-again",
        description=f"a control: {reference.name} a second time",
    )
