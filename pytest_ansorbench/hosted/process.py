"""The process of another interpreter that searches there, seen from the session's side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.measure.engine import ElsewhereError, EngineError
from pytest_ansorbench.measure.local.channel import ChannelClosed
from pytest_ansorbench.measure.local.interpreter import Interpreter
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage.entries import JOURNAL_VERSION
from pytest_ansorbench.travel import StayError, project_paths

PROTOCOL: Final = f"3.{JOURNAL_VERSION}"
"""What session and host say to each other, journal entries among it."""

_MAIN: Final = "pytest_ansorbench.hosted.main"


class HostProcess:
    """Starts the process when it is first asked something, and again once it was closed."""

    def __init__(
        self, name: str, python: str, root: Path, opening: Callable[[], Mapping[str, Any]]
    ) -> None:
        """Prepare; nothing is started.

        Args:
            name: Of the toolchain.
            python: Path of the interpreter.
            root: Folder of the project that cases and strategies may be defined in.
            opening: Gives target and settings of a new process's engine.
        """
        self.name = name
        self.root = root
        self.cases: dict[str, Any] = {}  # that the process knows
        self._python = python
        self._opening = opening
        self._running: Interpreter | None = None

    def request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for the operation `op`; the first answer, further ones come from `receive`."""
        if self._running is None:
            self._running = self._started()
            place = {"root": str(self.root), "paths": project_paths(self.root)}
            try:
                self._send({"op": "open", **self._opening(), **place})
                self.receive()
            except BaseException:  # it has no engine
                self.close()
                raise
        self._send(message)
        return self.receive()

    def receive(self) -> dict[str, Any]:
        try:
            answer, payload = self._process().channel.receive()
        except ChannelClosed:
            raise self._gone() from None
        except BaseException:  # an interrupt: the answer would pass for that to the next request
            self.close()
            raise
        if "error" in answer:
            if answer["kind"] == "stay":
                raise StayError(answer["error"])
            kinds = {"resume": ResumeError, "engine": EngineError, "failed": ElsewhereError}
            raise kinds[answer["kind"]](f"toolchain {self.name}: {answer['error']}")
        return {**answer, "payload": payload} if payload else answer

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def close(self) -> None:
        """End the process and all it has started."""
        running, self._running = self._running, None
        self.cases.clear()
        if running is not None:
            running.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._process().channel.send(message)
        except ChannelClosed:
            raise self._gone() from None

    def _process(self) -> Interpreter:
        if self._running is None:
            raise EngineError(f"toolchain {self.name}: its search process was closed")
        return self._running

    def _gone(self) -> EngineError:
        cause, words = self._process().died_of()
        self.close()
        return EngineError(f"toolchain {self.name}: its search process is gone: {cause}{words}")

    def _started(self) -> Interpreter:
        try:
            running = Interpreter(self._python, _MAIN)
            try:
                running.greeting("its search process", PROTOCOL)
            except BaseException:
                running.close()
                raise
        except EngineError as error:
            raise EngineError(f"toolchain {self.name}: {error}") from None
        return running
