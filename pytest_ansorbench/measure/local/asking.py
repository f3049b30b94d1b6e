"""The outside of a child process: requests that it has so many seconds to answer."""

from __future__ import annotations

import time
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.measure.local.channel import ChannelClosed

if TYPE_CHECKING:
    from pytest_ansorbench.measure.local.fork_server import Child, Ended


class ProgramError(Exception):
    """The program failed, but its process lives; the message is the error's first line."""


class WorkerDied(Exception):
    """The program's process ended; `Asking.end` tells how."""


class WorkerTimeout(Exception):
    """The program took longer than allowed, and was killed; the message says how long."""


class Asking:
    """Asks a child process, and kills it if it does not answer in time."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self._timeout_s = 0.0
        self._deadline_s = time.monotonic()

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now."""
        self._timeout_s = timeout_s
        self._deadline_s = time.monotonic() + timeout_s

    @property
    def patience_s(self) -> float:
        """Seconds left of what it was allowed."""
        return max(0.0, self._deadline_s - time.monotonic())

    def ask(self, message: dict[str, Any], payload: bytes = b"") -> tuple[dict[str, Any], bytes]:
        self.send(message, payload)
        return self.receive()

    def send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        try:
            self.child.channel.send(message, payload)
        except ChannelClosed:
            raise WorkerDied from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for the reply, ProgramError, WorkerDied or WorkerTimeout."""
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

    def end(self) -> Ended:
        """End the process; ServerDied if the fork server died, and so did this process."""
        return self.child.bury()
