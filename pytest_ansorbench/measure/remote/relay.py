"""Sessions with a device, seen from the engine, and the programs that are in them.

Libraries are uploaded while further programs compile; their arguments follow when they are run.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.asking import Asking, ProgramError, ProgramFailure, WorkerDied
from pytest_ansorbench.measure.local.fork_server import Child, Ended, ServerDied
from pytest_ansorbench.measure.local.runnable import Runnable, WrongOutput
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.remote.tracker import Lease

if TYPE_CHECKING:
    from pytest_ansorbench.measure.program import Buildable
    from pytest_ansorbench.workloads.case import Check

_OPEN_S: Final = 30.0
"""Seconds to connect to a device that a tracker has handed out."""


class DeviceSession(Asking):
    """The process that talks to a device, and what it was sent."""

    def __init__(self, child: Child, check: Check | None, functions: int) -> None:
        super().__init__(child)
        self.check = check  # of the programs in it
        self.functions = functions  # of a program, at most
        self.old_s = 0.0  # when it is to be renewed, once it is open
        self.uploading: RemoteProgram | None = None  # that it has not replied to yet


class Relays:
    """The session with the device, opened when it is needed and renewed before it ends."""

    def __init__(self, supervisor: Supervisor, lease: Lease, session_s: float, device: str) -> None:
        """After `session_s` the device ends a session; after half of it, it is renewed.

        For networks it is as many times that as they have functions. `device` is TVM's name of
        what there runs programs.
        """
        self.lost = 0  # sessions that ended before they were to
        self._supervisor = supervisor
        self._lease = lease
        self._session_s = session_s
        self._device = device
        self._session: DeviceSession | None = None
        self._busy_until_s = 0.0  # at most, with the last session, unless that ended in order

    def fresh(self, check: Check | None, functions: int = 1) -> DeviceSession:
        """A new session, in a process on the device that has run nothing else.

        A server takes it only when the one before is over, which a kernel that hangs leaves to the
        session's own limit. To hang up meanwhile would end TVM's Python server for good.
        """
        self.close()
        session_s = self._session_s * functions
        offer = self._lease.offer(session_s)
        child = self._supervisor.fork(check, "relay")
        session = DeviceSession(child, check, functions)
        # A tracker hands out only what is free.
        busy_s = 0.0 if offer.matchkey else max(0.0, self._busy_until_s - time.monotonic())
        session.allow(_OPEN_S + offer.patience_s + busy_s)
        limits = {"timeout_s": session_s, "patience_s": offer.patience_s}
        where = {"host": offer.host, "port": offer.port, "matchkey": offer.matchkey}
        try:
            session.ask({"op": "open", **where, **limits, "device": self._device})
        except ProgramFailure as error:
            session.child.kill()
            ended = session.end()
            self._lease.lose()
            cause = str(error) or ended.cause
            raise EngineError(f"no session with {offer.host}:{offer.port}: {cause}") from None
        opened_s = time.monotonic()
        session.old_s, self._busy_until_s = opened_s + session_s / 2, opened_s + session_s
        self._session = session
        return session

    def ready(self, check: Check | None, functions: int = 1) -> DeviceSession:
        """The session for a program's measurement: a new one if it is old or of other programs."""
        session = self.settled()
        if (
            session is None
            or check is not session.check
            or functions > session.functions
            or time.monotonic() > session.old_s
        ):
            return self.fresh(check, functions)
        return session

    def current(self, check: Check | None, functions: int, timeout_s: float) -> DeviceSession:
        """The session under way, or if it has been lost a new one with so many seconds."""
        session = self.settled()
        if session is None:
            session = self.fresh(check, functions)
            session.allow(timeout_s)
        return session

    def settled(self) -> DeviceSession | None:
        """The session, once what was begun to be uploaded is there; None if there is none."""
        session = self.living()
        if session is None or session.uploading is None:
            return session
        session.allow(_OPEN_S)
        try:
            session.receive()
        except ProgramError:
            pass  # its failure is told when it is to be run
        except ProgramFailure:
            self.drop()
            return None
        else:
            session.uploading.uploaded_to = session
        session.uploading = None
        return session

    def living(self) -> DeviceSession | None:
        """The session, unless it went with the fork server."""
        if self._session is not None and self._session.child.server.closed:
            self._session = None
        return self._session

    def drop(self) -> bool:
        """Give a session up that something went wrong in: ServerDied if that is what it was.

        Whether its process ended by SIGKILL, which it gets here at the latest.
        """
        session, self._session = self._session, None
        if session is None:
            return False
        self.lost += 1
        session.child.kill()
        return session.end().was_killed

    def close(self) -> None:
        """End the session; the device is free for the next."""
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(ServerDied):
                if not session.end().was_killed:
                    self._busy_until_s = 0.0


class RemoteProgram(Runnable):
    """A program that runs on the device: a shared library, which can be uploaded again."""

    _numbers = itertools.count()

    def __init__(
        self,
        program: Buildable,
        check: Check | None,
        library: bytes,
        relays: Relays,
        flush_mb: int,
    ) -> None:
        super().__init__(program, check, flush_mb)
        self.uploaded_to: DeviceSession | None = None
        self._loaded_in: DeviceSession | None = None  # the session where it has its arguments
        self._number = next(self._numbers)
        self._library = library
        self._relays = relays
        self._timeout_s = 0.0

    def upload(self) -> None:
        """Begin to upload it, if there is a session, once the one before it is there.

        A process that waits for its device reads nothing, and to send has no time limit.
        """
        session = self._relays.settled()
        if session is None:
            return
        try:
            session.send(self._load_request(), self._library)
        except WorkerDied:
            self._relays.drop()
        else:
            session.uploading = self

    def allow(self, timeout_s: float) -> None:
        """Give it this many seconds from now, in a session that lasts for them."""
        self._timeout_s = timeout_s * self.program.functions
        self._relays.ready(self.check, self.program.functions).allow(self._timeout_s)

    def make_arguments(self) -> None:
        """Upload it and make its arguments, as far as that is not done."""
        self._in_session()

    def ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        return self._in_session().ask({**message, "program": self._number})

    def verify(self) -> None:
        """Compare its output; in a session that it was not in yet, call it first."""
        before = self._loaded_in
        if self._in_session() is not before:
            self.first_call()
        super().verify()

    def kill(self) -> None:
        """End the session: a call that is under way cannot be ended otherwise."""
        self._relays.drop()

    def give_up(self, failure: ProgramFailure) -> Ended:
        """End it; whatever goes wrong in a session, but a wrong output, costs the session."""
        if isinstance(failure, WrongOutput):
            return self.end()
        return Ended("the session with the device ended", 0.0, self._relays.drop())

    def end(self) -> Ended:
        """Take it out of the session, if it is there and the session lives."""
        session = self._relays.settled()
        if session is not None and session in (self.uploaded_to, self._loaded_in):
            self.uploaded_to = self._loaded_in = None
            session.allow(_OPEN_S)
            try:
                session.ask({"op": "unload", "program": self._number})
            except ProgramFailure:
                self._relays.drop()
        return Ended("", 0.0)

    def _in_session(self) -> DeviceSession:
        """The session, with this program in it; if another has cost it, a new one."""
        session = self._relays.current(self.check, self.program.functions, self._timeout_s)
        if self._loaded_in is not session:
            if self.uploaded_to is not session:
                session.ask(self._load_request(), self._library)
                self.uploaded_to = session
            session.ask({"op": "arguments", "program": self._number})
            self._loaded_in = session
        return session

    def _load_request(self) -> dict[str, Any]:
        kind, shapes = self.program.kind, self.program.shapes
        return {"op": "load", "program": self._number, "kind": kind, "shapes": shapes}
