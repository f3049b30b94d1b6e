"""A Python process of this or another interpreter, with a channel to it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import IO, Any, Final

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed

_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_OWN: Final = ("PYTHONHOME", "PYTHONPATH", "TVM_LIBRARY_PATH")
"""Variables by which this interpreter may find TVM; another one has a TVM of its own."""
_PR_SET_PDEATHSIG: Final = 1
_START_S: Final = 180.0
"""Importing TVM and compiling a first kernel takes 2 s; a cold disk takes longer."""


class KilledStarting(EngineError):
    """Somebody has killed a process while it started: another one may start."""


class Interpreter:
    """A process that runs `python -m MODULE FD OPTIONS`, its end of the channel being FD.

    It has a session of its own, so that a terminal's Ctrl-C meets the parent alone.
    """

    def __init__(
        self,
        python: str | None,
        module: str,
        options: Sequence[str] = (),
        environment: Mapping[str, str] = _NONE,
    ) -> None:
        self._python = python or sys.executable
        withheld = () if python is None else _OWN
        inherited = {name: one for name, one in os.environ.items() if name not in withheld}
        ours, theirs = socket.socketpair()
        self._log = anonymous_file()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [self._python, "-m", module, str(theirs.fileno()), *options],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    # Warnings in there are not the user's, who may have made them errors.
                    env={**inherited, "PYTHONWARNINGS": "ignore", **environment},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                self._log.close()
                raise EngineError(
                    f"cannot start the interpreter {self._python!r}: {error.strerror}; "
                    "expected the path of one, e.g. .venv/bin/python"
                ) from None
        self.channel = Channel(ours)
        self.pid = self._process.pid

    def greeting(self, name: str, protocol: object) -> dict[str, Any]:
        """Its first message, by which it has started. Errors call it by the name.

        Raises:
            EngineError: It does not start, or speaks another protocol; KilledStarting if it was
                killed.
        """
        if not wait([self.channel.fileno()], _START_S):
            raise EngineError(f"{name} said nothing for {_START_S:g} s")
        try:
            message, _ = self.channel.receive()
        except ChannelClosed:
            cause, words = self.died_of()
            if self._python != sys.executable and "No module named" in words:
                raise EngineError(
                    f"the interpreter {self._python!r} lacks what is needed{words}; install "
                    "pytest-ansorbench there, the same version as here"
                ) from None
            failure = KilledStarting if self.was_killed else EngineError
            raise failure(f"{name} did not start: {cause}{words}") from None
        spoken = message.get("protocol", 0)
        if spoken != protocol:
            raise EngineError(
                f"the interpreter {self._python!r} has a pytest-ansorbench that speaks protocol "
                f"{spoken} and not {protocol}; install the same version as here"
            )
        return message

    def ends_within(self, timeout_s: float) -> bool:
        """Whether it ends by itself in so many seconds."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def died_of(self) -> tuple[str, str]:
        """The cause and its last words, once its channel has ended."""
        return cause_of_death(self._process.wait()), last_words(self._log)

    @property
    def was_killed(self) -> bool:
        """Whether it ended by SIGKILL, which is nobody's own fault."""
        return self._process.wait() == -signal.SIGKILL

    def close(self) -> None:
        """Kill it and all that shares its process group; returns when it is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self.channel.close()
        self._log.close()


def end_with_parent() -> None:
    """Have the system end this process as soon as the thread that started it has ended. On Linux.

    Elsewhere nothing is done; and nothing if the parent has ended already.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def anonymous_file() -> IO[bytes]:
    """A file without a name, in memory where that can be: nothing to clean up, no disk to fill."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("ansor-bench"), "w+b")
    return TemporaryFile("w+b")


def last_words(log: IO[bytes]) -> str:
    """The last line of a log, to be put behind a cause of death; empty if there is none."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - 4096))
    lines = log.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1].strip()[:200]}" if lines else ""


def cause_of_death(code: int) -> str:
    """What ended a process, from its exit code as `subprocess` has it: below 0, a signal."""
    if code >= 0:
        return f"worker exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"worker died of {signal.Signals(-code).name}"
    return f"worker died of signal {-code}"
