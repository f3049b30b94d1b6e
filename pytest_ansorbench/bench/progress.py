"""How an experiment reports where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Standing:
    """Where one case's experiment stands after a trial.

    Attributes:
        case: The case's id.
        strategy: The strategy whose trial it was.
        repeat: The repeat under way, from 1.
        repeats: Repeats in all, or at most if they stop by themselves.
        settled: How many gates the repeats before have settled, and how many there are.
        run_trials: Trials of the run under way.
        budget_trials: Trials of a run.
        best_gflops: Best throughput of the run under way, in GFLOP/s.
        task: The task under way and its place among the others; empty for an operator.
        estimated_s: Latency of the network by its tasks' best so far; None for an operator, or
            while a task has no valid trial.
        trials_done: Trials of all arms and repeats so far.
        trials_total: Trials of all arms and repeats in the end.
        elapsed_s: Wall-clock seconds since the case began.
    """

    case: str
    strategy: str
    repeat: int
    repeats: int
    settled: tuple[int, int]
    run_trials: int
    budget_trials: int
    best_gflops: float
    task: str
    estimated_s: float | None
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

    def update(self, standing: Standing) -> None:
        """Take note of where things stand."""
        ...

    def clear(self) -> None:
        """The case is over; leave nothing on the screen."""
        ...


class Silent:
    """Progress for nobody."""

    def note(self, what: str) -> None:
        """Say nothing."""

    def update(self, standing: Standing) -> None:
        """Say nothing."""

    def clear(self) -> None:
        """Nothing to remove."""
