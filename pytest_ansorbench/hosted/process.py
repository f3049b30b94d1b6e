"""The process of another interpreter that searches there, seen from the session's side."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from typing import IO, Any, Final, NoReturn

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed
from pytest_ansorbench.measure.local.fork_server import anonymous_file, cause_of_death, last_words
from pytest_ansorbench.storage.entries import JOURNAL_VERSION

PROTOCOL: Final = f"1.{JOURNAL_VERSION}"
"""What session and host say to each other, journal entries among it."""
START_TIMEOUT_S: Final = 180.0
"""Importing TVM takes two seconds; a cold disk takes longer."""

_MAIN: Final = "pytest_ansorbench.hosted.main"


class HostRefusal(Exception):
    """What the host cannot do although it is well; the message says why.

    Attributes:
        kind: `resume` if a journal does not fit, else `engine`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class HostProcess:
    """Starts the process when it is first asked something, and again once it was closed.

    It has a session of its own, so that a terminal's Ctrl-C meets the parent alone. It ends when
    the parent closes it or is gone.

    Attributes:
        name: Name of the toolchain, for messages.
    """

    def __init__(self, name: str, python: str, opening: Callable[[], Mapping[str, Any]]) -> None:
        """Prepare; nothing is started.

        Args:
            name: Name of the toolchain.
            python: Path of the interpreter.
            opening: Gives the first request to each new process, which says what its engine is
                like, as JSON values.
        """
        self.name = name
        self._python = python
        self._opening = opening
        self._running: _Running | None = None

    def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for something, and wait for the answer.

        Args:
            message: With the operation as `op`.

        Returns:
            The first answer; further ones come from `receive`.

        Raises:
            HostRefusal: The host says no.
            EngineError: It cannot be started, or is gone.
        """
        if self._running is None:
            self._running = self._started()
            self._send(self._opening())
            self.receive()
        self._send(message)
        return self.receive()

    def receive(self) -> dict[str, Any]:
        """Wait for an answer.

        Raises:
            HostRefusal: The host says no.
            EngineError: It is gone.
        """
        try:
            answer, _ = self._process().channel.receive()
        except ChannelClosed:
            self._fail()
        if "error" in answer:
            raise HostRefusal(str(answer["kind"]), f"toolchain {self.name}: {answer['error']}")
        return answer

    @property
    def is_running(self) -> bool:
        """Whether there is a process to be asked."""
        return self._running is not None

    def close(self) -> None:
        """End the process. Does nothing if there is none."""
        if self._running is not None:
            running, self._running = self._running, None
            running.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._process().channel.send(message)
        except ChannelClosed:
            self._fail()

    def _process(self) -> _Running:
        if self._running is None:
            raise EngineError(f"toolchain {self.name}: its search process was closed")
        return self._running

    def _fail(self) -> NoReturn:
        running = self._process()
        code = running.process.wait()
        words = last_words(running.log)
        self.close()
        raise EngineError(
            f"toolchain {self.name}: its search process is gone: {cause_of_death(code)}{words}"
        ) from None

    def _started(self) -> _Running:
        ours, theirs = socket.socketpair()
        log = anonymous_file()
        with theirs:
            try:
                process = subprocess.Popen(
                    [self._python, "-m", _MAIN, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                log.close()
                raise EngineError(
                    f"toolchain {self.name}: cannot start the interpreter {self._python!r}: "
                    f"{error.strerror}; expected the path of one, e.g. .venv/bin/python"
                ) from None
        running = _Running(process, Channel(ours), log)
        try:
            self._greet(running)
        except BaseException:
            running.close()
            raise
        return running

    def _greet(self, running: _Running) -> None:
        """Wait until the process says that it is there, and what it speaks."""
        if not wait([running.channel.fileno()], START_TIMEOUT_S):
            raise EngineError(
                f"toolchain {self.name}: its search process said nothing for {START_TIMEOUT_S:g} s"
            )
        try:
            greeting, _ = running.channel.receive()
        except ChannelClosed:
            running.process.wait()
            raise EngineError(
                f"toolchain {self.name}: the interpreter {self._python!r} cannot search"
                f"{last_words(running.log)}; install pytest-ansorbench there, the same version as "
                "here"
            ) from None
        if greeting.get("protocol") != PROTOCOL:
            raise EngineError(
                f"toolchain {self.name}: the interpreter {self._python!r} has a pytest-ansorbench "
                f"that speaks protocol {greeting.get('protocol')} and not {PROTOCOL}; install the "
                "same version as here"
            )


class _Running:
    """A process, its channel, and what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], channel: Channel, log: IO[bytes]) -> None:
        self.process = process
        self.channel = channel
        self.log = log

    def close(self) -> None:
        """Kill it and all it has started; returns when it is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.channel.close()
        self.log.close()
