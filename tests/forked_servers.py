"""Fork servers and hosts that are forked themselves: a new interpreter imports TVM for seconds.

All else about them is real. Tests of how they start have some of their own.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import psutil
import pytest

from pytest_ansorbench.hosted import process
from pytest_ansorbench.measure.local import fork_server
from pytest_ansorbench.measure.local.channel import Channel
from pytest_ansorbench.measure.local.interpreter import Interpreter, anonymous_file
from tests.forked import adopt, forked, new_nursery
from tests.interpreters import is_as_it_is

_MAIN = "pytest_ansorbench.measure.local.fork_server_main"
_HOST = "pytest_ansorbench.hosted.main"
_SERVER = (f"{_MAIN}:warm_up",)


def interpreter(
    python: str | None,
    module: str,
    options: Sequence[str] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Interpreter:
    """Fork servers and hosts of this interpreter are forked, under whatever path it has."""
    ours = python is None or is_as_it_is(python)
    if ours and module == _MAIN:
        return ForkedInterpreter(module, _SERVER, options, environment)
    if ours and module == _HOST:
        with new_nursery(_SERVER, _SERVER) as nursery:  # of the host's own fork servers
            return ForkedInterpreter(
                module, (*_SERVER, _HOST), options, environment, "be_a_host", [nursery.fileno()]
            )
    return Interpreter(python, module, options, environment)


class ForkedInterpreter(Interpreter):
    """Begins with all imported that is preloaded."""

    def __init__(
        self,
        module: str,
        preloaded: tuple[str, ...],
        options: Sequence[str],
        environment: Mapping[str, str],
        function: str = "be_it",
        descriptors: Sequence[int] = (),
    ) -> None:
        self._python = "this"
        ours, theirs = socket.socketpair()
        self._log = anonymous_file()
        with theirs:
            self._process = forked(
                f"{__name__}:{function}",
                module,
                [*options],
                preloaded=preloaded,
                descriptors=[theirs.fileno(), self._log.fileno(), *descriptors],
                cwd=Path.cwd(),
                **environment,
            )
        self.channel = Channel(ours)
        self.pid = self._process.pid
        if module == _MAIN:
            _servers.append(self._process)

    def died_of(self) -> tuple[str, str]:
        raise AssertionError("a process that was warm did not start")


_servers: list[psutil.Process] = []


def living_servers() -> list[psutil.Process]:
    """The forked fork servers that this process has started."""
    return [one for one in _servers if one.is_running()]


def be_it(module: str, options: Sequence[str], control: int, log: int) -> None:
    os.setsid()
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)
    importlib.import_module(module).main([str(control), *options])


def be_a_host(module: str, options: Sequence[str], control: int, log: int, nursery: int) -> None:
    adopt(_SERVER, nursery)
    with forked_servers():
        be_it(module, options, control, log)


@contextmanager
def forked_servers() -> Iterator[None]:
    """Engines and hosts in this process have such servers, but those of another interpreter."""
    with pytest.MonkeyPatch.context() as patch:
        for starts in (fork_server, process):
            patch.setattr(starts, "Interpreter", interpreter)
        yield
