"""A compiled candidate that waits in its process to be run, seen from the parent's side."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pytest_ansorbench.measure.channel import ChannelClosed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.measure.arguments import Shapes
    from pytest_ansorbench.measure.fork_server import Child, Ended
    from pytest_ansorbench.workloads.case import Check


class KernelError(Exception):
    """The candidate failed, but its process lives; the message is the error's first line."""


class KernelDied(Exception):
    """The candidate's process ended; `Kernel.end` tells how."""


class KernelTimeout(Exception):
    """The candidate took longer than allowed, and was killed; the message says how long."""


class WrongOutput(Exception):
    """The candidate's output is not what it should be; the message is one sentence on that."""


@dataclass(frozen=True)
class Program:
    """What a process compiles.

    Attributes:
        text: The module as TVM's JSON.
        kind: Whether it is a kernel or a network.
        functions: How many functions it has; so many times as long may it take.
    """

    text: bytes
    kind: Literal["kernel", "network"] = "kernel"
    functions: int = 1


class Kernel:
    """One candidate in its process, which ends with `end`.

    Attributes:
        child: The process.
        program: What it compiles, should that have to be done again.
        check: Inputs and expected output, if known.
    """

    def __init__(
        self, child: Child, program: Program, check: Check | None, *, flush_cache_mb: int
    ) -> None:
        """Take charge of a process that has been forked for this candidate.

        Args:
            child: The process.
            program: What to compile.
            check: Inputs and expected output that the process was forked with.
            flush_cache_mb: Megabytes to copy before each sample; 0 for warm caches.
        """
        self.child = child
        self.program = program
        self.check = check
        self._flush_cache_mb = flush_cache_mb
        self.allow(0.0)

    def begin_build(self, target: str, timeout_s: float) -> None:
        """Ask for the compilation; `receive` gives the reply."""
        self.allow(timeout_s)
        request = {"op": "build", "kind": self.program.kind, "target": target}
        with contextlib.suppress(KernelDied):  # `receive` will find that out
            self._send(request, self.program.text)

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now for each of its functions."""
        self._timeout_s = timeout_s * self.program.functions
        self._deadline_s = time.monotonic() + self._timeout_s

    @property
    def patience_s(self) -> float:
        """Seconds left of what it was allowed."""
        return max(0.0, self._deadline_s - time.monotonic())

    def make_arguments(self, shapes: Shapes) -> None:
        """Make the arrays it is called with; a network has those of its check."""
        self._request({"op": "arguments", "shapes": shapes})

    def first_call(self) -> float:
        """See `Stopwatch.first_call`."""
        return float(self._request({"op": "call"})["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """See `Stopwatch.time`."""
        request = {"op": "time", "calls": calls, "samples": samples}
        reply = self._request({**request, "flush_mb": self._flush_cache_mb})
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
            KernelError: It failed.
            KernelDied: Its process ended instead.
            KernelTimeout: Its time was up; it was killed.
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
            raise KernelTimeout(f"no result after {self._timeout_s:g} s")
        try:
            reply, payload = self.child.channel.receive()
        except ChannelClosed:
            raise KernelDied from None
        if "error" in reply:
            raise KernelError(reply["error"])
        return reply, payload

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        self._send(message)
        return self.receive()

    def _send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        try:
            self.child.channel.send(message, payload)
        except ChannelClosed:
            raise KernelDied from None
