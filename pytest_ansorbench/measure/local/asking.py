"""The outside of a child process: requests that it has so many seconds to answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_ansorbench.measure.local.channel import ChannelClosed

if TYPE_CHECKING:
    from pytest_ansorbench.measure.local.fork_server import Child, Ended


_LATE_S: Final = 1.0
"""So late nobody wakes up who was not stopped meanwhile, as by Ctrl-Z or with a container."""
_MOST_STOPS: Final = 3
"""So often a process that was stopped gets its time again."""


class ProgramFailure(Exception):
    """A program did not do what it was asked, or its process is gone."""


class ProgramError(ProgramFailure):
    """The program failed, but its process lives; the message is the error's first line."""


class WorkerDied(ProgramFailure):
    """The program's process ended; `Asking.end` tells how."""


class WorkerTimeout(ProgramFailure):
    """The program took longer than allowed, and was killed; the message says how long."""


class Asking:
    """Asks a child process, and kills it if it does not answer in time."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.patience_s = 0.0
        """Seconds left of what it was allowed; only those count in which it is waited for."""
        self._timeout_s = 0.0

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds."""
        self._timeout_s = self.patience_s = timeout_s

    def ask(self, message: dict[str, Any], payload: bytes = b"") -> tuple[dict[str, Any], bytes]:
        self.send(message, payload)
        return self.receive()

    def send(self, message: dict[str, Any], payload: bytes = b"") -> None:
        try:
            self.child.channel.send(message, payload)
        except ChannelClosed:
            raise WorkerDied from None

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for the reply, or a ProgramFailure."""
        if not self._replies():
            self.child.kill()
            raise WorkerTimeout(f"no result after {self._timeout_s:g} s")
        try:
            reply, payload = self.child.channel.receive()
        except ChannelClosed:
            raise WorkerDied from None
        if "error" in reply:
            raise ProgramError(reply["error"])
        return reply, payload

    def _replies(self) -> bool:
        """Whether it replies in time, which begins anew if it turns out to be stopped then."""
        for _ in range(_MOST_STOPS):
            while self.patience_s:
                if replied([self]):
                    return True
            if replied([self]):
                return True
            if not self.child.is_stopped:
                return False
            self.child.resume()
            self.patience_s = self._timeout_s
        return False

    def end(self) -> Ended:
        """End the process; ServerDied if the fork server died, and so did this process."""
        return self.child.bury()


_Asked = TypeVar("_Asked", bound=Asking)


def replied(asked: Sequence[_Asked]) -> list[_Asked]:
    """Wait until some have replied, or have no patience left; those that have replied.

    If this process was stopped meanwhile, so may they have been, and nothing counts of the wait.
    """
    patience_s = min(one.patience_s for one in asked)
    started_s = time.monotonic()
    ready = wait([one.child.channel.fileno() for one in asked], patience_s)
    waited_s = time.monotonic() - started_s
    if waited_s < patience_s + _LATE_S:
        for one in asked:
            one.patience_s = max(0.0, one.patience_s - waited_s)
    return [one for one in asked if one.child.channel.fileno() in ready]
