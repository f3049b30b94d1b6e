"""The program to beat, in the process where it has waited since it took the lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pytest_ansorbench.measure.local.asking import ProgramError, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.local.fork_server import ForkServer
from pytest_ansorbench.measure.local.worker import Worker

_Answer = TypeVar("_Answer")


class IncumbentLost(Exception):
    """The incumbent failed, which is no fault of the candidate that runs beside it."""


class Incumbent:
    """A `Stopwatch` on the incumbent's worker whose failures are told apart from a candidate's.

    Its methods raise `IncumbentLost`.
    """

    def __init__(self, worker: Worker) -> None:
        """Prepare; nothing runs.

        Args:
            worker: Its process, which `engine.discard` ends.
        """
        self._worker = worker

    def lives_on(self, server: ForkServer) -> bool:
        """Whether it is a child of this fork server: it died with any other."""
        return self._worker.child.server is server

    def wake(self, timeout_s: float) -> None:
        """Give it so many seconds for what follows, and its arguments if it was built again."""
        self._worker.allow(timeout_s)
        self._of_its_own(self._worker.make_arguments)

    def first_call(self) -> float:
        """See `Stopwatch.first_call`."""
        return self._of_its_own(self._worker.first_call)

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """See `Stopwatch.time`."""
        return self._of_its_own(lambda: self._worker.time(calls, samples))

    def _of_its_own(self, request: Callable[[], _Answer]) -> _Answer:
        try:
            return request()
        except (ProgramError, WorkerDied, WorkerTimeout) as failure:
            self._worker.child.kill()
            raise IncumbentLost from failure
