"""What a run has come to so far: all that changes from round to round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ansorbench.records import Round, Trial
from pytest_ansorbench.search.clock import Clock
from pytest_ansorbench.search.random_state import PrivateRandomState
from pytest_ansorbench.search.task_search import TaskSearch

if TYPE_CHECKING:
    from pytest_ansorbench.strategies.candidate import Candidate


@dataclass
class RunState:
    """One run in the making.

    Attributes:
        seed: Seed of everything random.
        tasks: The search of each task.
        clock: Adds up search time.
        random_state: NumPy's global random state as this run knows it.
        rounds: The rounds so far.
        trials: The trials so far.
        candidates: Those of the last round, in order of its trials.
    """

    seed: int
    tasks: Sequence[TaskSearch]
    clock: Clock
    random_state: PrivateRandomState
    rounds: list[Round] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    candidates: Sequence[Candidate] = ()

    def finish_round(self, rounds_task: int, *, restarts: int) -> None:
        """End the round under way.

        Args:
            rounds_task: Index of the task that it was on.
            restarts: How often the engine was restarted in it.
        """
        decisions = self.tasks[rounds_task].finish_round(len(self.candidates))
        seconds = self.clock.take_round()
        self.rounds.append(
            Round(
                index=len(self.rounds) + 1,
                propose_s=seconds["propose"],
                build_s=seconds["build"],
                run_s=seconds["run"],
                learn_s=seconds["learn"],
                decisions=dict(decisions),
                restarts=restarts,
                task=rounds_task,
            )
        )
