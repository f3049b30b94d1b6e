"""One session with a device, seen from the engine, and the programs that are in it.

Libraries are uploaded while further programs compile; their arguments follow when they are run.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.measure.arguments import Shapes
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.asking import (
    Asking,
    ProgramError,
    WorkerDied,
    WorkerTimeout,
    WrongOutput,
)
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.remote.lease import Lease

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.workloads.case import Check

_OPEN_S: Final = 30.0
"""Seconds to connect to a device that a tracker has handed out."""


class Relays:
    """The session with the device, opened when it is needed and renewed before it ends.

    Attributes:
        lost: How many sessions ended before they were to.
    """

    def __init__(self, supervisor: Supervisor, lease: Lease, session_s: float) -> None:
        """Prepare; nothing is opened.

        Args:
            supervisor: Forks the processes that talk to the device.
            lease: Whose device it is.
            session_s: Seconds after which the device ends a session by itself: what a kernel that
                hangs costs at most. After half of it the session is renewed.
        """
        self.lost = 0
        self._supervisor = supervisor
        self._lease = lease
        self._session_s = session_s
        self._relay: Asking | None = None
        self._check: Check | None = None
        self._old_s = 0.0
        self._uploading: deque[int] = deque()
        self._uploaded: set[int] = set()
        self._loaded: set[int] = set()

    def fresh(self, check: Check | None) -> Asking:
        """A new session, in a process on the device that has run nothing else.

        Args:
            check: Inputs and expected output of the programs to come.

        Raises:
            EngineError: There is no device.
            ServerDied: The fork server died.
        """
        self.close()
        offer = self._lease.offer()
        relay = Asking(self._supervisor.fork(check, "relay"))
        relay.allow(_OPEN_S)
        request = {"op": "open", "host": offer.host, "port": offer.port}
        try:
            relay.ask({**request, "matchkey": offer.matchkey, "timeout_s": self._session_s})
        except (ProgramError, WorkerDied, WorkerTimeout) as error:
            relay.child.kill()
            relay.end()
            self._lease.lose()
            raise EngineError(f"no session with {offer.host}:{offer.port}: {error}") from None
        self._relay, self._check = relay, check
        self._old_s = time.monotonic() + self._session_s / 2
        return relay

    def ready(self, check: Check | None) -> Asking:
        """The session for a program's measurement: a new one if it is old or of another check.

        Raises:
            EngineError: There is no device.
            ServerDied: The fork server died.
        """
        self._settle()
        if self._relay is None or check is not self._check or time.monotonic() > self._old_s:
            return self.fresh(check)
        return self._relay

    def current(self, check: Check | None, timeout_s: float) -> Asking:
        """The session under way, or a new one if it has been lost.

        Args:
            check: Inputs and expected output of its programs.
            timeout_s: Seconds that a new one is given for what comes.

        Raises:
            EngineError: There is no device.
            ServerDied: The fork server died.
        """
        self._settle()
        if self._relay is None:
            self.fresh(check).allow(timeout_s)
        assert self._relay is not None
        return self._relay

    def upload(self, program: int, shapes: Shapes, library: bytes) -> None:
        """Begin to upload a program, if there is a session; nobody waits for it.

        Args:
            program: Number to call it by.
            shapes: Data type and shape of each argument.
            library: What it was compiled to.
        """
        if self._relay is None:
            return
        try:
            self._relay.send(_load_request(program, shapes), library)
        except WorkerDied:
            self.drop()
        else:
            self._uploading.append(program)

    def is_uploaded(self, program: int) -> bool:
        """Whether a program is in the session."""
        return program in self._uploaded

    def is_loaded(self, program: int) -> bool:
        """Whether a program is in the session, with its arguments."""
        return program in self._loaded

    def note_loaded(self, program: int) -> None:
        """Remember that it is."""
        self._loaded.add(program)

    def unload(self, program: int) -> None:
        """Take a program out of the session, if it is there and the session lives."""
        self._settle()
        if self._relay is None or program not in self._uploaded | self._loaded:
            return
        self._uploaded.discard(program)
        self._loaded.discard(program)
        self._relay.allow(_OPEN_S)
        try:
            self._relay.ask({"op": "unload", "program": program})
        except (ProgramError, WorkerDied, WorkerTimeout):
            self.drop()

    def drop(self) -> None:
        """Give a session up that something went wrong in."""
        if self._relay is not None:
            self._relay.child.kill()
            self.lost += 1
            self.close()

    def forget(self) -> None:
        """There is no session any more: the fork server died, and its children with it."""
        self._relay = None
        self._forget_programs()

    def close(self) -> None:
        """End the session; the device is free for the next."""
        relay, self._relay = self._relay, None
        self._forget_programs()
        if relay is not None:
            relay.end()

    def _settle(self) -> None:
        """Wait until all that was begun to be uploaded is there."""
        while self._uploading and self._relay is not None:
            self._relay.allow(_OPEN_S)
            try:
                self._relay.receive()
            except ProgramError:
                self._uploading.popleft()  # its failure is told when it is to be run
            except (WorkerDied, WorkerTimeout):
                self.drop()
            else:
                self._uploaded.add(self._uploading.popleft())

    def _forget_programs(self) -> None:
        self._uploading.clear()
        self._uploaded.clear()
        self._loaded.clear()


def _load_request(program: int, shapes: Shapes) -> dict[str, Any]:
    return {"op": "load", "program": program, "shapes": shapes}


class RemoteProgram:
    """A program that runs on the device; what `Worker` is for programs that run here.

    Attributes:
        program: What was compiled.
        check: Inputs and expected output, if known.
        surroundings: None: what precedes a call in a network is not done on a device.
    """

    _numbers = itertools.count()

    def __init__(
        self,
        program: Buildable,
        check: Check | None,
        library: bytes,
        relays: Relays,
        flush_mb: int,
    ) -> None:
        """Keep a program; nothing is sent.

        Args:
            program: What was compiled.
            check: Inputs and expected output.
            library: What it was compiled to, a shared library.
            relays: The session.
            flush_mb: Megabytes to copy before each timed call; 0 for none.
        """
        self.program = program
        self.check = check
        self.surroundings = None
        self._number = next(self._numbers)
        self._library = library
        self._relays = relays
        self._flush_mb = flush_mb
        self._timeout_s = 0.0

    def upload(self) -> None:
        """Begin to upload it, if there is a session, and return at once."""
        self._relays.upload(self._number, self.program.shapes, self._library)

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now."""
        self._timeout_s = timeout_s
        self._relays.current(self.check, timeout_s).allow(timeout_s)

    def make_arguments(self) -> None:
        """Upload it and make its arguments, as far as that is not done."""
        self._in_session()

    def first_call(self) -> float:
        """See `Stopwatch.first_call`; it includes the way to the device and back."""
        return float(self._ask({"op": "call"})["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """See `Stopwatch.time`."""
        request = {"op": "time", "calls": calls, "samples": samples, "flush_mb": self._flush_mb}
        return tuple(float(seconds) for seconds in self._ask(request)["seconds"])

    def verify(self) -> None:
        """Compare its output with the reference.

        Raises:
            WrongOutput: It differs.
        """
        if wrong := self._ask({"op": "check"})["wrong"]:
            raise WrongOutput(wrong)

    def output(self) -> NDArray[Any]:
        """What its last call wrote."""
        relay = self._in_session()
        relay.send({"op": "output", "program": self._number})
        reply, payload = relay.receive()
        return np.frombuffer(payload, reply["dtype"]).reshape(reply["shape"])

    def suspend(self) -> None:
        """Nothing: the programs of a session share its threads, and only one is called."""

    def resume(self) -> None:
        """Nothing, as nothing is suspended."""

    def end(self) -> None:
        """Take it out of the session."""
        self._relays.unload(self._number)

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        return self._in_session().ask({**message, "program": self._number})

    def _in_session(self) -> Asking:
        """The session, with this program in it.

        Another program that fails takes the session along; this one goes on in the next.
        """
        relay = self._relays.current(self.check, self._timeout_s)
        if not self._relays.is_loaded(self._number):
            if not self._relays.is_uploaded(self._number):
                relay.ask(_load_request(self._number, self.program.shapes), self._library)
            relay.ask({"op": "arguments", "program": self._number})
            self._relays.note_loaded(self._number)
        return relay
