"""How many trials a run may measure and for how long, and how many trials a round has."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

#: MetaSchedule's own `num_trials_per_iter`.
STOCK_ROUND_TRIALS: Final = 64
#: Rounds that a small budget is divided into, so that every strategy learns.
ROUNDS_OF_SMALL_BUDGET: Final = 8
#: The same for the share of a task among others, from which a strategy learns as well, and of
#: which those that matter get a multiple. A task of a network takes ten seconds and more to
#: propose for, however few are asked for (docs/networks.md).
ROUNDS_OF_SMALL_SHARE: Final = 2

#: Trials of a run that only its run time ends: more than it can measure.
UNLIMITED_TRIALS: Final = 1_000_000
#: Trials to plan for in a second of run time. On two cores the stock search makes half as many on
#: an operator, drafts twice as many (docs/results/draft.txt).
PLANNED_TRIALS_A_SECOND: Final = 2

_PER_TASK: Final = "/task"


@dataclass(frozen=True)
class Trials:
    """A number of trials, at least 1, in all or for each task of the case."""

    number: int
    per_task: bool = False

    @classmethod
    def parse(cls, text: str) -> Trials:
        """Parse `128`, or `16/task` for 16 times the number of tasks.

        Raises:
            ValueError: It is neither.
        """
        word = text.strip()
        digits = word.removesuffix(_PER_TASK).strip()
        if not digits.isdecimal() or int(digits) < 1:
            raise ValueError("expected a whole number of at least 1, e.g. 128, or e.g. 16/task")
        return cls(int(digits), per_task=word.endswith(_PER_TASK))

    def __str__(self) -> str:
        return f"{self.number}{_PER_TASK if self.per_task else ''}"


@dataclass(frozen=True)
class Budget:
    """What ends a run: its trials or its run time, whichever is over first."""

    trials: Trials = field(default=Trials(128))
    # None for 64, or if that is less an eighth of all for a single task, half of a task's share
    # for several
    round_trials: int | None = None
    run_time_s: float | None = None  # seconds of search; None if trials alone end it

    def in_all(self, tasks: int) -> int:
        """Trials of a run over a number of tasks."""
        return self.trials.number * (tasks if self.trials.per_task else 1)

    def planned(self, tasks: int) -> int:
        """Trials to plan for, see `planned_trials`."""
        return planned_trials(self.in_all(tasks), self.run_time_s)

    def a_round(self, tasks: int) -> int:
        """Trials of a round, with the default worked out."""
        if self.round_trials is not None:
            return self.round_trials
        rounds = ROUNDS_OF_SMALL_BUDGET if tasks == 1 else ROUNDS_OF_SMALL_SHARE
        return min(STOCK_ROUND_TRIALS, max(1, self.planned(tasks) // tasks // rounds))

    def check(self, tasks: int) -> None:
        """Refuse a budget that does not give every task a round.

        Raises:
            BudgetError: It is too small.
        """
        if self.in_all(tasks) < self.a_round(tasks) * tasks:
            raise BudgetError(self.trials, self.a_round(tasks), tasks)


def planned_trials(budget_trials: int, run_time_s: float | None) -> int:
    """Trials that a strategy plans for: all, or two for each second of run time if that is less."""
    if run_time_s is None:
        return budget_trials
    return min(budget_trials, max(1, round(PLANNED_TRIALS_A_SECOND * run_time_s)))


def spent_share(
    trials: int, search_s: float, budget_trials: int, run_time_s: float | None
) -> float:
    """Share of a run's budget that is spent: its trials or its run time, whichever ends first."""
    return min(1.0, max(trials / budget_trials, search_s / (run_time_s or math.inf)))


class BudgetError(ValueError):
    """A budget that does not give every task a round."""

    def __init__(self, trials: Trials, round_trials: int, tasks: int) -> None:
        least = round_trials * tasks
        self.trials = trials
        self.expected = (
            f"at least a round of {round_trials}, e.g. {least}"
            if tasks == 1
            else f"at least a round of {round_trials} for each of {tasks} tasks, e.g. {least} or "
            f"{Trials(round_trials, per_task=True)}"
        )
        super().__init__(f"bad trials {trials}: expected {self.expected}")
