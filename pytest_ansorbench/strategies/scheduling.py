"""Which task of a network a search turns to next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import Final, Protocol

from pytest_ansorbench.strategies.errors import require_at_least, require_share

_UNTUNED_ROUNDS: Final = 4
"""Of a task without a valid trial, before it has to wait until no other can be searched."""


@dataclass(frozen=True)
class TaskState:
    """How far the search of one task has come.

    Attributes:
        weight: How often the case calls the task.
        best_s: Best latency in seconds after each round it has had; infinity while no trial
            was valid.
        finished: Whether there is nothing left to search for.
    """

    weight: int
    best_s: Sequence[float]
    finished: bool


Draw = Callable[[int], int]
"""Draws a number from 0 to one less than its argument."""


class TaskScheduler(Protocol):
    """Chooses tasks by their state, and by nothing else, so that a resumed run goes on."""

    def next_task(self, tasks: Sequence[TaskState], draw: Draw) -> int:
        """The task for the next round.

        Args:
            tasks: All tasks, at least one of which is not finished.
            draw: For a scheduler that leaves something to chance.

        Returns:
            Index of a task that is not finished.
        """
        ...


@dataclass(frozen=True)
class RoundRobin:
    """Every task in its turn."""

    def next_task(self, tasks: Sequence[TaskState], draw: Draw) -> int:
        """The task with the fewest rounds, the first of equals."""
        return min(_alive(tasks), key=lambda index: len(tasks[index].best_s))


@dataclass(frozen=True)
class GradientScheduler:
    """The task from which most is to be expected for the whole, once each has had a round.

    The expected gain of one more round on a task i with weight w, after t rounds with best
    latencies g(1) to g(t), is

        w * (alpha * (g(t - window) - g(t)) / window + (1 - alpha) * g(t) / t)

    where the first term, what the last rounds gained, counts from round `window` + 1 on, and
    the second is optimism: a task with few rounds may still get to zero. Ansor (Zheng et al.
    2020, https://arxiv.org/abs/2006.06762, section 6.2 and appendix A) has a third term for
    similar tasks, which MetaSchedule leaves out (src/s_tir/meta_schedule/task_scheduler/
    gradient_based.cc); its parameters are the defaults here. A task without a valid trial gets
    four rounds at once. TVM lets it wait after the first, which has 64 trials there; here it may
    have two.

    By this formula tasks that take little of the time have few rounds, also when the longest gain
    nothing any more. A floor gives them some.

    Attributes:
        alpha: Weight of the past against optimism, in [0, 1].
        window: Rounds over which the past is looked at, at least 1.
        floor: Share of the mean rounds of unfinished tasks that each of them has at least, in
            [0, 1].
    """

    alpha: float = 0.2
    window: int = 3
    floor: float = 0.0

    def __post_init__(self) -> None:
        require_share(self, "alpha", "floor")
        require_at_least(self, 1, "window")

    def next_task(self, tasks: Sequence[TaskState], draw: Draw) -> int:
        """A task to begin with, else one below the floor, else the one with the largest gain.

        To begin with are those without a valid trial after fewer than four rounds, the fewest
        first. Any task if all gain the same.
        """
        alive = _alive(tasks)
        untuned = [
            index
            for index in alive
            if len(best_s := tasks[index].best_s) < _UNTUNED_ROUNDS
            and math.isinf(min(best_s, default=math.inf))
        ]
        if untuned:
            return min(untuned, key=lambda index: len(tasks[index].best_s))
        least = self.floor * fmean(len(tasks[index].best_s) for index in alive)
        gains = [self._gain(tasks[index], least) for index in alive]
        if max(gains) == min(gains):
            return alive[draw(len(alive))]
        return alive[gains.index(max(gains))]

    def _gain(self, task: TaskState, least: float) -> float:
        if math.isinf(task.best_s[-1]):  # nothing is known of a task without a valid trial
            return -math.inf
        return math.inf if len(task.best_s) < least else self.expected_gain(task)

    def expected_gain(self, task: TaskState) -> float:
        """Seconds of the case's latency that one more round may save.

        Args:
            task: One with a valid trial.
        """
        rounds, best_s = len(task.best_s), task.best_s[-1]
        past_s = 0.0
        if rounds > self.window:
            past_s = (task.best_s[-1 - self.window] - best_s) / self.window
        return task.weight * (self.alpha * past_s + (1.0 - self.alpha) * best_s / rounds)


def _alive(tasks: Sequence[TaskState]) -> list[int]:
    return [index for index, task in enumerate(tasks) if not task.finished]


SCHEDULERS: Final[Mapping[str, TaskScheduler]] = MappingProxyType(
    {
        "gradient": GradientScheduler(),
        "balanced": GradientScheduler(floor=0.5),
        "round-robin": RoundRobin(),
    }
)
"""By name, as `--ansor-scheduler` takes it."""
