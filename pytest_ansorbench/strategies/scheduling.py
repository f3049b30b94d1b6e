"""Which task of a network a search turns to next."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import Final, Protocol

from pytest_ansorbench.strategies.errors import require_at_least, require_positive, require_share

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
        expected_gain: What the proposer said in its last round that the next may gain, as share
            of the best latency; None if it said nothing.
        round_s: Seconds of its last round; None before the first.
    """

    weight: int
    best_s: Sequence[float]
    finished: bool
    expected_gain: float | None = None
    round_s: float | None = None


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
        """A task to begin with, else one below the floor, else the one with the largest gain."""
        least = self.floor * fmean(len(tasks[index].best_s) for index in _alive(tasks))

        def gain(task: TaskState) -> float:
            return math.inf if len(task.best_s) < least else self.expected_gain(task)

        return _most_promising(tasks, gain, draw)

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


@dataclass(frozen=True)
class PredictedGain:
    """The task from which most is predicted for each second, once each has had a round.

    The gain of one more round on a task with weight w and best latency g is

        w * g * (e + optimism / t) / seconds of its last round

    where e is what its proposer predicts (`expected_gain` among its decisions) and t the number
    of its rounds; a proposer that predicts nothing counts as if it predicted none. Optimism keeps
    a task whose model knows of nothing better from never being asked again.

    Attributes:
        optimism: What a second round may gain beyond what is predicted, as share of the latency.
    """

    optimism: float = 0.05

    def __post_init__(self) -> None:
        require_positive(self, "optimism")

    def next_task(self, tasks: Sequence[TaskState], draw: Draw) -> int:
        """A task to begin with, else the one with the largest gain, else any of them."""
        return _most_promising(tasks, self.gain_a_second, draw)

    def gain_a_second(self, task: TaskState) -> float:
        """Seconds of the case's latency that a second of search may save.

        Args:
            task: One with a valid trial.
        """
        share = (task.expected_gain or 0.0) + self.optimism / len(task.best_s)
        return task.weight * task.best_s[-1] * share / max(task.round_s or 0.0, 1e-3)


def _most_promising(
    tasks: Sequence[TaskState], gain: Callable[[TaskState], float], draw: Draw
) -> int:
    """A task to begin with, else the one with the largest gain; any if all gain the same.

    To begin with are those that have no valid trial after fewer than four rounds, the fewest first.
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
    # Nothing is known of a task without a valid trial.
    gains = [gain(tasks[i]) if math.isfinite(tasks[i].best_s[-1]) else -math.inf for i in alive]
    if max(gains) == min(gains):
        return alive[draw(len(alive))]
    return alive[gains.index(max(gains))]


def _alive(tasks: Sequence[TaskState]) -> list[int]:
    return [index for index, task in enumerate(tasks) if not task.finished]


SCHEDULERS: Final[Mapping[str, TaskScheduler]] = MappingProxyType(
    {
        "gradient": GradientScheduler(),
        "balanced": GradientScheduler(floor=0.5),
        "round-robin": RoundRobin(),
        "predicted-gain": PredictedGain(),
    }
)
"""By name, as `--ansor-scheduler` takes it."""
