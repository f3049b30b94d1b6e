"""A process of another library, which answers as those do that are forked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.local.fork_server import Child, Ended
from pytest_ansorbench.measure.local.interpreter import Interpreter

if TYPE_CHECKING:
    from pytest_ansorbench.measure.program import Foreign

_BURIAL_TIMEOUT_S: Final = 10.0
"""A process whose channel was closed is gone within milliseconds."""


class ForeignProcess:
    """The parent of one child, which is an interpreter of its own."""

    def __init__(self, program: Foreign) -> None:
        self.closed = False
        self._process = Interpreter(None, program.module, program.arguments, program.environment)
        self.child = Child(self._process.pid, self._process.channel, self)

    def wait_for_end(self, child: Child) -> Ended:
        """How the child ended, which is killed if it does not."""
        if not self._process.ends_within(_BURIAL_TIMEOUT_S):
            child.kill()
        cause, words = self._process.died_of()
        ended = Ended(cause + words, 0.0, self._process.was_killed)
        self.close()
        return ended

    def close(self) -> None:
        """End it; returns when it is gone."""
        if not self.closed:
            self.closed = True
            self._process.close()
