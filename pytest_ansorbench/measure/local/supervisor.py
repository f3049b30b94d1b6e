"""Watches over the fork server: one that dies is replaced, but not for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.arguments import dump_check
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.fork_server import Child, ForkServer, Parent, Role
from pytest_ansorbench.measure.local.interpreter import KilledStarting

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Check

_MOST_RESTARTS_IN_A_ROW: Final = 3


class Supervisor:
    """Keeps a warm fork server at hand, which has the inputs of the current task in memory."""

    def __init__(self, new_server: Callable[[], ForkServer]) -> None:
        self.restarts = 0
        self._new_server = new_server
        self._server: ForkServer | None = None
        self._loaded: Check | None = None
        self._is_new = False  # nothing was forked from the server
        self._restarts_in_a_row = 0

    @property
    def server(self) -> ForkServer:
        """The server, started if there is none."""
        if self._server is None:
            self._restarts_in_a_row = 0
            return self._start()
        return self._server

    def fork(self, check: Check | None, role: Role = "worker") -> Child:
        """Fork a child that has a check's inputs and expected output in its memory."""
        server = self.server
        if check is not self._loaded:
            server.load(b"" if check is None else dump_check(check))
            self._loaded = check
        self._is_new = False
        return server.fork(role)

    def replace(self, dead: Parent) -> None:
        """Start another server in place of one that died, unless that has been done."""
        if self._server is None or dead is not self._server:
            return
        self.close()
        self._count_death()
        self._start()

    def renew(self) -> None:
        """Have a new server, whose processes have their memory laid out anew."""
        if self._server is None or not self._is_new:
            self.close()
            self._start()

    def note_success(self) -> None:
        """A program was measured: deaths before it do not count as in a row with later ones."""
        self._restarts_in_a_row = 0

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _start(self) -> ForkServer:
        while True:
            server = self._new_server()
            try:
                server.wait_until_warm()
            except KilledStarting:
                self._count_death()
                continue
            self._server, self._loaded, self._is_new = server, None, True
            return server

    def _count_death(self) -> None:
        self.restarts += 1
        self._restarts_in_a_row += 1
        if self._restarts_in_a_row > _MOST_RESTARTS_IN_A_ROW:
            raise EngineError(
                f"the fork server died {self._restarts_in_a_row} times in a row: is something "
                "killing it, or is the machine out of memory?"
            )
