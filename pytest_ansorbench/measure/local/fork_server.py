"""The process that candidates are forked from, seen from the parent's side.

Compiling and running a candidate wants a process of its own, because a candidate may crash,
hang, leak or write where it should not; and it wants TVM imported, LLVM warmed up and the
case's inputs in memory, which takes seconds. A fork server has done all that once; a fork of
it takes milliseconds, starts from the same state for every candidate, and takes whatever the
candidate did to it into its grave. So nothing has to be recycled and nothing wears out.

`multiprocessing` has a fork server, too. It imports the caller's main module into every child
and takes one list of preloaded modules a process, first come, first served; it limits no
memory and tells neither a child's peak memory nor its last words.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, Literal

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed
from pytest_ansorbench.measure.settings import Caches

#: Importing TVM and compiling a first kernel takes 2 s here; a cold disk takes longer.
WARM_UP_TIMEOUT_S: Final = 180.0

#: The module that is the server.
_MAIN: Final = "pytest_ansorbench.measure.local.fork_server_main"

#: What parent, server and children say to each other; another interpreter's may differ.
PROTOCOL: Final = 2

#: A child that was killed, or whose channel was closed, is gone within milliseconds.
_BURIAL_TIMEOUT_S: Final = 30.0


Role = Literal["worker", "relay"]


class ServerDied(Exception):
    """The fork server is gone, and its children with it; none of them is to blame."""


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        cause: Its signal or exit code, and its last words if any.
        peak_memory_mb: Largest resident memory it had, shared pages included.
    """

    cause: str
    peak_memory_mb: float


class Child:
    """One forked process, waiting for requests.

    Attributes:
        pid: Its process id, which is its process group's as well.
        channel: Where requests go and replies come from.
        server: Whom it was forked from.
    """

    def __init__(self, pid: int, channel: Channel, server: ForkServer) -> None:
        self.pid = pid
        self.channel = channel
        self.server = server
        self._ended: Ended | None = None

    @property
    def peak_memory_mb(self) -> float:
        """Largest resident memory so far, as `Ended` has it; 0 where it cannot be told: Linux can.

        A child that has ended is asked by `bury`.
        """
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024 / 1e6
        return 0.0

    def suspend(self) -> None:
        """Keep it from using any core until `resume`; a kernel's threads busy-wait after a call."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on; nothing happens if it is not suspended."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it and all it has started, suspended or not; `bury` tells when it is gone."""
        self._signal(signal.SIGKILL)

    def bury(self) -> Ended:
        """Close the channel, on which a child in order exits, and wait until it is gone.

        A suspended one goes on first.

        Returns:
            How it ended; the same again if it is asked again.

        Raises:
            ServerDied: The server died, and so did the child.
        """
        self.channel.close()
        if self._ended is None:
            self.resume()
            self._ended = self.server.wait_for_end(self)
        return self._ended

    def _signal(self, number: signal.Signals) -> None:
        if self._ended is not None:
            return  # its number may be another's by now
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


class ForkServer:
    """Starts the server process and forks children from it.

    The server has a session of its own, so that a terminal's Ctrl-C meets the parent alone.
    It ends when the parent closes it or is gone, and its children end with it.

    Attributes:
        machine: The machine and the packages as its interpreter has them, once it is warm.
    """

    def __init__(
        self,
        *,
        threads: int,
        memory_limit_mb: int,
        caches: Caches = "warm",
        cores: Sequence[int] | None = None,
        python: str | None = None,
    ) -> None:
        """Start the process; `wait_until_warm` waits for it.

        Args:
            threads: Threads that a kernel may use.
            memory_limit_mb: Memory a child may allocate beyond what it is forked with.
            caches: How children's calls are to find the caches.
            cores: Cores that children are to keep to, one for each of a kernel's threads at
                least; None leaves placement to TVM and the operating system.
            python: Path of the interpreter that it is a process of; None for this one.

        Raises:
            EngineError: This operating system cannot fork, or there is no such interpreter.
        """
        if not hasattr(os, "fork"):
            raise EngineError(
                "measuring needs an operating system that forks: Linux, macOS, or WSL on Windows"
            )
        ours, theirs = socket.socketpair()
        options = [str(theirs.fileno()), str(memory_limit_mb), caches]
        if cores is not None:
            options.append(",".join(map(str, cores)))
        self._python = python
        self._log = anonymous_file()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [python or sys.executable, "-m", _MAIN, *options],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    env={**os.environ, **_environment(threads, pinned=cores is not None)},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                self._log.close()
                raise EngineError(
                    f"cannot start the interpreter {python or sys.executable!r}: {error.strerror}; "
                    "expected the path of one, e.g. .venv/bin/python"
                ) from None
        self._control = Channel(ours)
        self.machine: Mapping[str, Any] = {}
        self._children: dict[int, Child] = {}
        self._ended: dict[int, Ended] = {}
        self._closed = False

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def wait_until_warm(self) -> None:
        """Wait for a server that is starting.

        Raises:
            EngineError: It did not start, or did not warm up; the message holds the cause.
        """
        if not wait([self._control.fileno()], WARM_UP_TIMEOUT_S):
            self.close()
            raise EngineError(f"the fork server was not warm after {WARM_UP_TIMEOUT_S:g} s")
        try:
            message, _ = self._control.receive()
        except ChannelClosed:
            code = self._process.wait()
            words = last_words(self._log)
            self.close()
            if self._python is not None and "No module named" in words:
                raise EngineError(
                    f"the interpreter {self._python!r} lacks what is needed{words}; install "
                    "pytest-ansorbench there, the same version as here"
                ) from None
            raise EngineError(
                f"the fork server did not start: {cause_of_death(code)}{words}"
            ) from None
        if message.get("protocol", 0) != PROTOCOL:
            self.close()
            raise EngineError(
                f"the interpreter {self._python or sys.executable!r} has a pytest-ansorbench that "
                f"speaks protocol {message.get('protocol', 0)} and not {PROTOCOL}; install the "
                "same version as here"
            )
        if "error" in message:
            self.close()
            raise EngineError(f"the fork server did not warm up: {message['error']}")
        self.machine = message["machine"]

    def load(self, arrays: bytes) -> None:
        """Give future children a check's inputs and expected output, as `dump_check` packs them.

        Raises:
            ServerDied: It is gone.
        """
        self._request({"op": "load"}, arrays)

    def fork(self, role: Role = "worker") -> Child:
        """Fork a child.

        Args:
            role: What it is to do: compile and run programs, or talk to a device.

        Raises:
            ServerDied: It is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                reply = self._request({"op": "fork", "role": role}, descriptors=[theirs.fileno()])
            except ServerDied:
                ours.close()
                raise
        child = Child(reply["pid"], Channel(ours), self)
        self._children[child.pid] = child
        return child

    def wait_for_end(self, child: Child) -> Ended:
        """Wait until a child is gone.

        Raises:
            ServerDied: It is gone, and the child with it.
        """
        deadline = time.monotonic() + _BURIAL_TIMEOUT_S
        while child.pid not in self._ended:
            if self._closed:
                raise ServerDied
            if wait([self._control.fileno()], max(0.0, deadline - time.monotonic())):
                self._note_end(self._receive())
            else:  # it does not exit by itself, though its channel is closed
                child.kill()
                deadline = time.monotonic() + _BURIAL_TIMEOUT_S
        self._children.pop(child.pid, None)
        return self._ended.pop(child.pid)

    def close(self) -> None:
        """Kill the server and its children; returns when they are gone."""
        if self._closed:
            return
        self._closed = True
        for child in list(self._children.values()):
            child.kill()
            child.channel.close()
        self._children.clear()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._control.close()
        self._log.close()

    def _request(
        self,
        message: Mapping[str, Any],
        payload: bytes = b"",
        descriptors: Sequence[int] = (),
    ) -> dict[str, Any]:
        try:
            self._control.send(message, payload, descriptors)
        except ChannelClosed:
            raise ServerDied from None
        while "ended" in (reply := self._receive()):
            self._note_end(reply)
        return reply

    def _receive(self) -> dict[str, Any]:
        try:
            return self._control.receive()[0]
        except ChannelClosed:
            raise ServerDied from None

    def _note_end(self, message: Mapping[str, Any]) -> None:
        self._ended[message["ended"]] = Ended(
            cause_of_death(message["code"]) + str(message["last_words"]),
            float(message["peak_memory_mb"]),
        )


def anonymous_file() -> IO[bytes]:
    """A file without a name, in memory where that can be: nothing to clean up, no disk to fill."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("ansor-bench-log"), "w+b")
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


def _environment(threads: int, *, pinned: bool) -> dict[str, str]:
    return {
        "TVM_NUM_THREADS": str(threads),
        # TVM binds its own threads, but leaves the calling one to the operating system.
        **({"TVM_BIND_THREADS": "0"} if pinned else {}),
        # A process that forks must have one thread.
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
