"""All of a run that changes from round to round, and the clock that its rounds are timed by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from pytest_ansorbench.records import Round, Trial
from pytest_ansorbench.search.random_state import PrivateRandomState
from pytest_ansorbench.search.task_search import TaskSearch
from pytest_ansorbench.strategies.candidate import Candidate

Phase = Literal["propose", "build", "run", "learn", "check"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)


class Clock:
    """Adds up monotonic time spent in phases; owned by one search.

    Time outside of phases (another arm's round, the replacement of worn-out workers, progress
    output) does not count.
    """

    def __init__(
        self, now: Callable[[], float] = time.perf_counter, *, elapsed_s: float = 0.0
    ) -> None:
        self._now = now
        self._elapsed_s = elapsed_s
        self._round_s: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)

    @property
    def elapsed_s(self) -> float:
        """Search time so far, in seconds."""
        return self._elapsed_s

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Count the time inside as this phase's."""
        started = self._now()
        try:
            yield
        finally:
            spent_s = self._now() - started
            self._round_s[name] += spent_s
            self._elapsed_s += spent_s

    def take_round(self) -> dict[Phase, float]:
        """Seconds per phase since the last call; `check` is in no round, but after the last."""
        taken, self._round_s = self._round_s, dict.fromkeys(PHASES, 0.0)
        return taken


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
