"""Arms that cannot be judged, as no kernel of them is valid or no winner right, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ansorbench.records import CaseResult, Remeasurement, Trial, TrialStatus
from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernel


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures of one status, with the first message among them."""

    status: TrialStatus
    count: int
    error: str


@dataclass(frozen=True, slots=True)
class ArmFailures:
    """What failed of an arm, over all its runs.

    Attributes:
        strategy: The arm.
        of: Whether it is the trials or the winners, measured again, that are counted.
        total: How many there are, failed or not.
        causes: The failures, in order of appearance.
        stopped: Why its first run ended early; empty if it did not.
    """

    strategy: str
    of: Literal["trial", "winner"]
    total: int
    causes: tuple[Cause, ...]
    stopped: str = ""

    @property
    def count(self) -> int:
        return sum(cause.count for cause in self.causes)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to judge the arm by."""
        return self.count == self.total


def arm_failures(case: CaseResult) -> Iterator[ArmFailures]:
    """Each arm whose trials have all failed, and each of the others with a winner that has."""
    for strategy in case.strategies:
        runs = case.runs_of(strategy)
        if not runs:
            continue
        trials = [trial for run in runs for trial in run.trials]
        winners = [run.final for run in runs if run.final is not None]
        stopped = runs[0].stopped
        of_trials = ArmFailures(strategy, "trial", len(trials), _causes(trials), stopped)
        of_winners = ArmFailures(strategy, "winner", len(runs), _causes(winners), stopped)
        if of_trials.is_complete:
            yield of_trials
        elif of_winners.causes:
            yield of_winners


def toolchain_failures(kernels: Sequence[RebuiltKernel]) -> Iterator[ArmFailures]:
    """The same of toolchains that made saved kernels again: each of which none works.

    One that only the reference, the first, cannot make is held against nothing.
    """
    for sides in [*zip(*(kernel.sides for kernel in kernels), strict=True)][1:]:
        made = [side.measured for side in sides]
        failures = ArmFailures(sides[0].toolchain, "winner", len(made), _causes(made))
        if failures.is_complete:
            yield failures


def _causes(measured: Sequence[Trial | Remeasurement]) -> tuple[Cause, ...]:
    failed = [one for one in measured if one.status != "ok"]
    errors: dict[TrialStatus, list[str]] = {}
    for one in failed:
        errors.setdefault(one.status, []).append(one.error)
    return tuple(Cause(status, len(all_), all_[0]) for status, all_ in errors.items())
