"""A program in a process of its own, which compiles, runs and checks it, seen from the parent."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.measure.local.channel import ChannelClosed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.measure.local.fork_server import Child, Ended
    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.measure.settings import EngineSettings
    from pytest_ansorbench.workloads.case import Check


class ProgramError(Exception):
    """The program failed, but its process lives; the message is the error's first line."""


class WorkerDied(Exception):
    """The program's process ended; `Worker.end` tells how."""


class WorkerTimeout(Exception):
    """The program took longer than allowed, and was killed; the message says how long."""


class WrongOutput(Exception):
    """The program's output is not what it should be; the message is one sentence on that."""


class Worker:
    """One program in its process, which ends with `end`; a `Stopwatch` for measurement policies.

    Attributes:
        child: The process.
        program: What it compiles, should that have to be done again.
        check: Inputs and expected output, if known.
        surroundings: The network whose doings precede each timed call; None for none.
    """

    def __init__(
        self, child: Child, program: Buildable, check: Check | None, settings: EngineSettings
    ) -> None:
        """Take charge of a process that has been forked for this program.

        Args:
            child: The process.
            program: What to compile.
            check: Inputs and expected output that the process was forked with.
            settings: Say how calls are to find the caches.
        """
        self.child = child
        self.program = program
        self.check = check
        self._flush_mb = settings.flush_mb
        self._has_arguments = False
        self.surroundings = program.surroundings if settings.found_caches == "network" else None
        self.allow(0.0)

    def begin_build(
        self, target: str, passes: Mapping[str, Any], timeout_s: float, text: bytes
    ) -> None:
        """Ask for the compilation; `receive` gives the reply.

        Args:
            target: TVM target as JSON.
            passes: Options of TVM's `PassContext`.
            timeout_s: Seconds it may take for each of the program's functions.
            text: The program as TVM's JSON.
        """
        self.allow(timeout_s)
        request = {"op": "build", "kind": self.program.kind, "target": target, "passes": passes}
        with contextlib.suppress(WorkerDied):  # `receive` will find that out
            self._send(request, text)

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now for each of its functions."""
        self._timeout_s = timeout_s * self.program.functions
        self._deadline_s = time.monotonic() + self._timeout_s

    @property
    def patience_s(self) -> float:
        """Seconds left of what it was allowed."""
        return max(0.0, self._deadline_s - time.monotonic())

    def code_bytes(self) -> int | None:
        """Bytes of its object file; None if it has none."""
        size: int | None = self._request({"op": "size"})["code_bytes"]
        return size

    def make_arguments(self) -> None:
        """Make the arrays it is called with, once; a network has those of its check."""
        if not self._has_arguments:
            around = None if self.surroundings is None else asdict(self.surroundings)
            request = {"op": "arguments", "shapes": self.program.shapes, "surroundings": around}
            self._request(request)
        self._has_arguments = True

    def first_call(self) -> float:
        """See `Stopwatch.first_call`."""
        return float(self._request({"op": "call"})["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """See `Stopwatch.time`."""
        request = {"op": "time", "calls": calls, "samples": samples}
        reply = self._request({**request, "flush_mb": self._flush_mb})
        return tuple(float(seconds) for seconds in reply["seconds"])

    def verify(self) -> None:
        """Compare its output with the reference, and look at the memory around it.

        Raises:
            WrongOutput: Something is wrong.
        """
        if wrong := self._request({"op": "check"})["wrong"]:
            raise WrongOutput(wrong)

    def output(self) -> NDArray[Any]:
        """What its last call wrote."""
        self._send({"op": "output"})
        reply, payload = self._receive()
        return np.frombuffer(payload, reply["dtype"]).reshape(reply["shape"])

    def receive(self) -> dict[str, Any]:
        """Wait for the reply to the last request.

        Raises:
            ProgramError: It failed.
            WorkerDied: Its process ended instead.
            WorkerTimeout: Its time was up; it was killed.
        """
        return self._receive()[0]

    def end(self) -> Ended:
        """End its process.

        Raises:
            ServerDied: The fork server died, and so did this process.
        """
        return self.child.bury()

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        if not wait([self.child.channel.fileno()], self.patience_s):
            self.child.kill()
            raise WorkerTimeout(f"no result after {self._timeout_s:g} s")
        try:
            reply, payload = self.child.channel.receive()
        except ChannelClosed:
            raise WorkerDied from None
        if "error" in reply:
            raise ProgramError(reply["error"])
        return reply, payload

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        self._send(message)
        return self.receive()

    def _send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        try:
            self.child.channel.send(message, payload)
        except ChannelClosed:
            raise WorkerDied from None
