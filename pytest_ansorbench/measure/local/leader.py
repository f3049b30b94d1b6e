"""The program to beat, in the process where it has waited since it took the lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pytest_ansorbench.measure.local.asking import ProgramError, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.local.runnable import Runnable

_Answer = TypeVar("_Answer")


class LeaderLost(Exception):
    """The leader failed, which is no fault of the candidate that runs beside it."""


class Leader:
    """A `Stopwatch` on the leader that tells its failures from a candidate's: `LeaderLost`."""

    def __init__(self, program: Runnable) -> None:
        self._program = program

    def wake(self, timeout_s: float) -> None:
        """Give it so many seconds for what follows, and its arguments if it was built again."""
        if not self._program.is_there:
            raise LeaderLost
        self._of_its_own(lambda: self._program.allow(timeout_s))
        self._of_its_own(self._program.make_arguments)

    def first_call(self) -> float:
        return self._of_its_own(self._program.first_call)

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        return self._of_its_own(lambda: self._program.time(calls, samples))

    def _of_its_own(self, request: Callable[[], _Answer]) -> _Answer:
        try:
            return request()
        except (ProgramError, WorkerDied, WorkerTimeout) as failure:
            self._program.kill()
            raise LeaderLost from failure
