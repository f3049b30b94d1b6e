"""A program that was compiled and can be run, seen from the engine, wherever it is."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.arrays import unpack_arrays
from pytest_ansorbench.measure.local.asking import ProgramFailure
from pytest_ansorbench.measure.local.fork_server import Ended, ServerDied

if TYPE_CHECKING:
    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.workloads.case import Check, Surroundings
    from pytest_ansorbench.workloads.checking import Outputs


class WrongOutput(ProgramFailure):
    """The program's output is not what it should be; the message is one sentence on that."""


class Runnable(ABC):
    """A compiled program, the handle of a `Built`; a `Stopwatch` for measurement policies."""

    surroundings: Surroundings | None = None
    """The network whose doings precede each timed call."""

    def __init__(self, program: Buildable, check: Check | None, flush_mb: int) -> None:
        self.program = program
        self.check = check
        self._flush_mb = flush_mb

    @property
    def is_there(self) -> bool:
        """False if it went with the fork server that it was a child of."""
        return True

    @property
    def peak_memory_mb(self) -> float:
        return 0.0

    @abstractmethod
    def ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Have the process that has the program do something with it."""

    @abstractmethod
    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now."""

    @abstractmethod
    def make_arguments(self) -> None:
        """Make what it is called with, once."""

    @abstractmethod
    def kill(self) -> None:
        """End its process whatever it is doing."""

    def give_up(self, failure: ProgramFailure) -> Ended:
        """End it after a failure."""
        return self.end()

    @abstractmethod
    def end(self) -> Ended: ...

    def discard(self) -> None:
        """End it if that is not done."""
        with contextlib.suppress(ServerDied):
            self.end()

    def suspend(self) -> None:  # noqa: B027 - where processes share no cores
        """Keep it from using any core until `resume`: it may busy-wait after a call."""

    def resume(self) -> None:  # noqa: B027
        """Let it go on."""

    def first_call(self) -> float:
        return float(self.ask({"op": "call"})[0]["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        message = {"op": "time", "calls": calls, "samples": samples, "flush_mb": self._flush_mb}
        return tuple(float(seconds) for seconds in self.ask(message)[0]["seconds"])

    def verify(self) -> None:
        """Compare its output with the reference, and look at the memory around it: WrongOutput."""
        if wrong := self.ask({"op": "check"})[0]["wrong"]:
            raise WrongOutput(wrong)

    def outputs(self) -> Outputs:
        """What its last call wrote, and what a call with the fresh inputs writes."""
        reply, payload = self.ask({"op": "outputs"})
        arrays = tuple(unpack_arrays(payload))
        return arrays[: reply["count"]], arrays[reply["count"] :]
