"""Fork servers that are forked themselves: a new interpreter imports TVM for seconds.

All else about them is real. Tests of how servers start have servers of their own.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from pytest_ansorbench.measure.local import fork_server
from pytest_ansorbench.measure.local.channel import Channel
from pytest_ansorbench.measure.local.interpreter import Interpreter, anonymous_file
from tests.forked import forked

_MAIN = "pytest_ansorbench.measure.local.fork_server_main"


def interpreter(
    python: str | None, module: str, options: Sequence[str], environment: Mapping[str, str]
) -> Interpreter:
    """A fork server of this interpreter is forked."""
    if python is not None or module != _MAIN:
        return Interpreter(python, module, options, environment)
    return ForkedInterpreter(module, (f"{_MAIN}:warm_up",), options, environment)


class ForkedInterpreter(Interpreter):
    """Begins with all imported that is preloaded."""

    def __init__(
        self,
        module: str,
        preloaded: tuple[str, ...],
        options: Sequence[str],
        environment: Mapping[str, str],
    ) -> None:
        self._python = "this"
        ours, theirs = socket.socketpair()
        self._log = anonymous_file()
        with theirs:
            self._process = forked(
                f"{__name__}:be_it",
                module,
                [*options],
                preloaded=preloaded,
                descriptors=[theirs.fileno(), self._log.fileno()],
                **environment,
            )
        self.channel = Channel(ours)
        self.pid = self._process.pid

    def died_of(self) -> tuple[str, str]:
        raise AssertionError("a process that was warm did not start")


def be_it(module: str, options: Sequence[str], control: int, log: int) -> None:
    os.setsid()
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)
    importlib.import_module(module).main([str(control), *options])


@contextmanager
def forked_servers() -> Iterator[None]:
    """Engines in this process have such servers, unless they are of another interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "Interpreter", interpreter)
        yield
