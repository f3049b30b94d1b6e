"""Fork servers that outlast the sessions of tests.

All else about them is real. Tests of how servers start and end have servers of their own.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.measure.local import engine as local
from pytest_ansorbench.measure.local.fork_server import ForkServer, ServerDied
from pytest_ansorbench.measure.remote import engine as remote

_MOST_IDLE = 4

_idle: list[LastingServer] = []


class LastingServer(ForkServer):
    """Takes over a server of the same options that was closed, and when closed leaves it so."""

    def __init__(self, **options: Any) -> None:
        self._key = _key(options)
        taken = next((one for one in _idle if one._key == self._key), None)
        if taken is None:
            super().__init__(**options)
        else:
            _idle.remove(taken)
            self.__dict__ |= taken.__dict__ | {"closed": False, "_children": {}, "_ended": {}}

    def wait_until_warm(self) -> None:
        if not self.machine:
            super().wait_until_warm()

    def close(self) -> None:
        """End its children; the server goes on, unless it is of no more use."""
        if self.closed:
            return
        if not self.machine or not self._in_order:
            super().close()
            return
        try:
            for child in [*self._children.values()]:
                child.kill()
                child.bury()
            self.load(b"")
        except ServerDied:
            super().close()
            return
        self.closed = True
        _idle.append(self)
        if len(_idle) > _MOST_IDLE:
            _end(_idle[0])


def _key(options: Mapping[str, Any]) -> tuple[Any, ...]:
    """What servers have in common that do the same; an interpreter may be a script's copy."""
    python = options.get("python")
    text = Path(python).read_bytes()[:4096] if python and os.path.isfile(python) else python
    cores = options.get("cores")
    variables = {
        k: v for k, v in os.environ.items() if k.startswith(("PYTHON", "TVM", "OMP", "PATH"))
    }
    return (
        options["threads"],
        options["memory_limit_mb"],
        options.get("caches", "warm"),
        options.get("device", ""),
        None if cores is None else tuple(cores),
        text,
        *sorted(variables.items()),
    )


def _end(server: LastingServer) -> None:
    _idle.remove(server)
    server.closed = False
    ForkServer.close(server)


@atexit.register
def end_all() -> None:
    """End those that wait for a session."""
    for server in [*_idle]:
        _end(server)


@contextmanager
def lasting_servers() -> Iterator[None]:
    """Engines in this process have such servers."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (local, remote):
            patch.setattr(module, "ForkServer", LastingServer)
        yield
