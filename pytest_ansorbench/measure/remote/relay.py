"""One session with a device, seen from the engine, and the programs that are in it.

Libraries are uploaded while further programs compile; their arguments follow when they are run.
"""

from __future__ import annotations

import contextlib
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
from pytest_ansorbench.measure.local.fork_server import Ended, ServerDied
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

    Whatever opens a session raises EngineError if there is no device, and ServerDied if the fork
    server died that its process is a child of.
    """

    def __init__(self, supervisor: Supervisor, lease: Lease, session_s: float) -> None:
        """Prepare; nothing is opened.

        After `session_s` the device ends a session by itself: so long a kernel that hangs costs at
        most. After half of it the session is renewed.
        """
        self.lost = 0  # sessions that ended before they were to
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
        """A new session, in a process on the device that has run nothing else."""
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
        """The session for a program's measurement: a new one if it is old or of another check."""
        relay = self._settled()
        if relay is None or check is not self._check or time.monotonic() > self._old_s:
            return self.fresh(check)
        return relay

    def current(self, check: Check | None, timeout_s: float) -> Asking:
        """The session under way, or if it has been lost a new one with so many seconds."""
        relay = self._settled()
        if relay is None:
            relay = self.fresh(check)
            relay.allow(timeout_s)
        return relay

    def upload(self, program: int, shapes: Shapes, library: bytes) -> None:
        """Begin to upload a program, if there is a session; nobody waits for it."""
        relay = self._living()
        if relay is None:
            return
        try:
            relay.send(_load_request(program, shapes), library)
        except WorkerDied:
            self.drop()
        else:
            self._uploading.append(program)

    def is_uploaded(self, program: int) -> bool:
        return program in self._uploaded

    def is_loaded(self, program: int) -> bool:
        """Whether a program is in the session, with its arguments."""
        return program in self._loaded

    def note_loaded(self, program: int) -> None:
        self._loaded.add(program)

    def unload(self, program: int) -> None:
        """Take a program out of the session, if it is there and the session lives."""
        relay = self._settled()
        if relay is None or program not in self._uploaded | self._loaded:
            return
        self._uploaded.discard(program)
        self._loaded.discard(program)
        relay.allow(_OPEN_S)
        try:
            relay.ask({"op": "unload", "program": program})
        except (ProgramError, WorkerDied, WorkerTimeout):
            self.drop()

    def drop(self) -> None:
        """Give a session up that something went wrong in.

        Raises:
            ServerDied: That is what went wrong.
        """
        relay = self._forget()
        if relay is not None:
            self.lost += 1
            relay.child.kill()
            relay.end()

    def close(self) -> None:
        """End the session; the device is free for the next."""
        relay = self._forget()
        if relay is not None:
            with contextlib.suppress(ServerDied):
                relay.end()

    def _living(self) -> Asking | None:
        """The session, unless it went with the fork server."""
        if self._relay is not None and self._relay.child.server.closed:
            self._forget()
        return self._relay

    def _settled(self) -> Asking | None:
        """The session, once all that was begun to be uploaded is there."""
        while (relay := self._living()) is not None and self._uploading:
            relay.allow(_OPEN_S)
            try:
                relay.receive()
            except ProgramError:
                self._uploading.popleft()  # its failure is told when it is to be run
            except (WorkerDied, WorkerTimeout):
                self.drop()
            else:
                self._uploaded.add(self._uploading.popleft())
        return relay

    def _forget(self) -> Asking | None:
        relay, self._relay = self._relay, None
        self._uploading.clear()
        self._uploaded.clear()
        self._loaded.clear()
        return relay


def _load_request(program: int, shapes: Shapes) -> dict[str, Any]:
    return {"op": "load", "program": program, "shapes": shapes}


class RemoteProgram:
    """A program that runs on the device; what `Worker` is for programs that run here."""

    surroundings = None
    """What precedes a call in a network is not done on a device."""
    is_there = True
    """It is a library here, which can be uploaded again."""
    peak_memory_mb = 0.0
    _numbers = itertools.count()

    def __init__(
        self,
        program: Buildable,
        check: Check | None,
        library: bytes,
        relays: Relays,
        flush_mb: int,
    ) -> None:
        """Keep a program; nothing is sent."""
        self.program = program
        self.check = check
        self._number = next(self._numbers)
        self._library = library
        self._relays = relays
        self._flush_mb = flush_mb
        self._timeout_s = 0.0

    def upload(self) -> None:
        """Begin to upload it, if there is a session, and return at once."""
        self._relays.upload(self._number, self.program.shapes, self._library)

    def get_ready(self) -> None:
        """See to it that the session lasts for its measurement."""
        self._relays.ready(self.check)

    def allow(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._relays.current(self.check, timeout_s).allow(timeout_s)

    def make_arguments(self) -> None:
        """Upload it and make its arguments, as far as that is not done."""
        self._in_session()

    def first_call(self) -> float:
        """Call it once; the seconds include the way to the device and back."""
        return float(self._ask({"op": "call"})["seconds"])

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        request = {"op": "time", "calls": calls, "samples": samples, "flush_mb": self._flush_mb}
        return tuple(float(seconds) for seconds in self._ask(request)["seconds"])

    def verify(self) -> None:
        if wrong := self._ask({"op": "check"})["wrong"]:
            raise WrongOutput(wrong)

    def output(self) -> NDArray[Any]:
        relay = self._in_session()
        relay.send({"op": "output", "program": self._number})
        reply, payload = relay.receive()
        return np.frombuffer(payload, reply["dtype"]).reshape(reply["shape"])

    def suspend(self) -> None:
        """Nothing: the programs of a session share its threads, and only one is called."""

    def resume(self) -> None:
        """Nothing, as nothing is suspended."""

    def kill(self) -> None:
        """End the session: a call that is under way cannot be ended otherwise."""
        self._relays.drop()

    def give_up(self, failure: Exception) -> Ended:
        """End it; whatever goes wrong in a session, but a wrong output, costs the session."""
        if isinstance(failure, WrongOutput):
            return self.end()
        self._relays.drop()
        return Ended("the session with the device ended", 0.0)

    def end(self) -> Ended:
        """Take it out of the session."""
        self._relays.unload(self._number)
        return Ended("", 0.0)

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
