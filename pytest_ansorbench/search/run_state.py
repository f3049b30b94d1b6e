"""All of a run that changes from round to round."""

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
    """One run in the making."""

    seed: int
    tasks: Sequence[TaskSearch]
    clock: Clock
    random_state: PrivateRandomState
    rounds: list[Round] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    candidates: Sequence[Candidate] = ()  # of the last round, in order of its trials

    def finish_round(self, task: int, *, restarts: int) -> None:
        decisions = self.tasks[task].finish_round(len(self.candidates))
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
                task=task,
            )
        )
