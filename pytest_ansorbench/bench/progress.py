"""How far a case's experiment has come, for those who show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_ansorbench.bench.arms import AnySearch


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far one run has come."""

    strategy: str
    trials: int  # so far
    spent: float  # share of its budget, of trials or seconds
    best_gflops: float  # so far; 0 while no trial is valid
    search_s: float  # so far
    # The task under way and its place, e.g. `7/23 fused_conv2d`; empty for an operator
    task: str = ""
    # Latency of a network by its tasks' best so far; None for an operator, or while a task has no
    # valid trial
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
            spent=search.spent,
            best_gflops=search.best_gflops,
            search_s=search.search_s,
            task=task,
            estimated_s=search.estimated_s if several else None,
        )


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """How far one case's experiment has come with a trial."""

    case: str  # the case's id
    run: RunProgress  # the run whose trial it was
    repeat: int  # the repeat under way, from 1
    repeats: int  # repeats in all, or at most if they stop by themselves
    # How many gates the repeats before have settled, and how many there are
    settled: tuple[int, int]
    runs_done: float  # runs of all arms and repeats so far, those under way by what they have spent
    runs_total: float  # runs of all arms and repeats in the end
    elapsed_s: float  # wall-clock seconds since the case began
    # `runs_done` and `elapsed_s` at the first trial: before it, all is checked once for all runs
    first: tuple[float, float] = (0.0, 0.0)

    @property
    def remaining_s(self) -> float:
        """Estimated seconds to the end of the case: the pace since the first trial, kept up."""
        (first_done, first_s), to_do = self.first, self.runs_total - self.runs_done
        if not to_do or self.runs_done == first_done:
            return float("inf") if to_do else 0.0
        return to_do * (self.elapsed_s - first_s) / (self.runs_done - first_done)


class Progress(Protocol):
    """Is told of every trial, and of what goes on between them, outside of any clock."""

    def note(self, what: str) -> None:
        """Work that is no trial begins, e.g. `checking 3/19 fused_conv2d`."""

    def update(self, update: ProgressUpdate) -> None:
        """A trial is over."""

    def clear(self) -> None:
        """The case is over; leave nothing on the screen."""


class Silent:
    """Progress for nobody."""

    def note(self, what: str) -> None: ...

    def update(self, update: ProgressUpdate) -> None: ...

    def clear(self) -> None: ...
