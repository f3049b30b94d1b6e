"""How far a case's experiment has come, for those who show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_ansorbench.bench.arms import AnySearch


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far one run has come.

    Attributes:
        strategy: Its arm.
        trials: Its trials so far.
        budget_trials: Its trials in the end.
        best_gflops: Its best throughput so far; 0 while no trial is valid.
        search_s: Its search time so far.
        task: The task under way and its place, e.g. `7/23 fused_conv2d`; empty for an operator.
        estimated_s: Latency of a network by its tasks' best so far; None for an operator, or while
            a task has no valid trial.
    """

    strategy: str
    trials: int
    budget_trials: int
    best_gflops: float
    search_s: float
    task: str = ""
    estimated_s: float | None = None

    @classmethod
    def of(cls, search: AnySearch) -> RunProgress:
        several = len(search.tasks) > 1
        task = ""
        if several and search.current is not None:
            place = next(at for at, one in enumerate(search.tasks, 1) if one is search.current)
            task = f"{place}/{len(search.tasks)} {search.current.task.name}"
        return cls(
            strategy=search.strategy.name,
            trials=len(search.trials),
            budget_trials=search.budget_trials,
            best_gflops=search.best_gflops,
            search_s=search.search_s,
            task=task,
            estimated_s=search.estimated_s if several else None,
        )


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """How far one case's experiment has come with a trial.

    Attributes:
        case: The case's id.
        run: The run whose trial it was.
        repeat: The repeat under way, from 1.
        repeats: Repeats in all, or at most if they stop by themselves.
        settled: How many gates the repeats before have settled, and how many there are.
        trials_done: Trials of all arms and repeats so far.
        trials_total: Trials of all arms and repeats in the end.
        elapsed_s: Wall-clock seconds since the case began.
    """

    case: str
    run: RunProgress
    repeat: int
    repeats: int
    settled: tuple[int, int]
    trials_done: int
    trials_total: int
    elapsed_s: float

    @property
    def remaining_s(self) -> float:
        """Estimated seconds to the end of the case: the pace so far, kept up."""
        if not self.trials_done:
            return float("inf")
        return self.elapsed_s / self.trials_done * (self.trials_total - self.trials_done)


class Progress(Protocol):
    """Is told of every trial, and of what goes on between them, outside of any clock."""

    def note(self, what: str) -> None:
        """Work that is no trial begins, e.g. `checking 3/19 fused_conv2d`."""
        ...

    def update(self, update: ProgressUpdate) -> None:
        """A trial is over."""
        ...

    def clear(self) -> None:
        """The case is over; leave nothing on the screen."""
        ...


class Silent:
    """Progress for nobody."""

    def note(self, what: str) -> None: ...

    def update(self, update: ProgressUpdate) -> None: ...

    def clear(self) -> None: ...
