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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, Protocol

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed
from pytest_ansorbench.measure.local.interpreter import Interpreter, cause_of_death
from pytest_ansorbench.measure.settings import Caches

PROTOCOL: Final = 4
"""What parent, server and children say to each other; another interpreter's may differ."""

_MAIN: Final = "pytest_ansorbench.measure.local.fork_server_main"
_BURIAL_TIMEOUT_S: Final = 30.0
"""A child that was killed, or whose channel was closed, is gone within milliseconds."""

Role = Literal["worker", "relay"]
"""Of a child: to compile and run programs, or to talk to a device."""


class ServerDied(Exception):
    """The fork server is gone, and its children with it; none of them is to blame."""


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    cause: str
    """Its signal or exit code, and its last words if any."""
    peak_memory_mb: float
    """Largest resident memory it had, shared pages included."""
    was_killed: bool = False
    """Whether it died of SIGKILL, as of the system's when memory runs out."""


class Parent(Protocol):
    """What a process is a child of."""

    closed: bool

    def wait_for_end(self, child: Child) -> Ended: ...


class Child:
    """One process of its own group, waiting for requests."""

    def __init__(self, pid: int, channel: Channel, server: Parent) -> None:
        self.pid = pid  # also that of its process group
        self.channel = channel
        self.server = server
        self._ended: Ended | None = None

    @property
    def peak_memory_mb(self) -> float:
        """As `Ended` has it, so far; 0 where it cannot be told: Linux can."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024 / 1e6
        return 0.0

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has stopped it; False where that cannot be told: Linux can."""
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{self.pid}/stat").read_text()
            return status.rpartition(")")[2].split()[0] == "T"
        return False

    def suspend(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it and all it has started, suspended or not; `bury` tells when it is gone."""
        self._signal(signal.SIGKILL)

    def bury(self) -> Ended:
        """Close the channel, on which a child in order exits, and wait until it is gone."""
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
    """Starts the server process and forks children from it, which end with it."""

    def __init__(
        self,
        *,
        threads: int,  # of a kernel
        memory_limit_mb: int,  # that a child may allocate beyond what it is forked with
        caches: Caches = "warm",
        device: str = "",  # that kernels run on, by TVM's name; empty for the children themselves
        cores: Sequence[int] | None = None,  # that children keep to, one a thread at least
        python: str | None = None,
        writes_files: bool = False,  # as compilers may, who are killed before they remove them
    ) -> None:
        if not hasattr(os, "fork"):
            raise EngineError(
                "measuring needs an operating system that forks: Linux, macOS, or WSL on Windows"
            )
        options = [str(memory_limit_mb), caches, device, ",".join(map(str, cores or ()))]
        self._folder: TemporaryDirectory[str] | None = None
        if writes_files:
            self._folder = TemporaryDirectory(prefix="ansor-bench-", ignore_cleanup_errors=True)
        environment = {
            **({} if self._folder is None else {"TMPDIR": self._folder.name}),
            "TVM_NUM_THREADS": str(threads),
            # TVM binds its own threads, but leaves the calling one to the operating system.
            **({} if cores is None else {"TVM_BIND_THREADS": "0"}),
            # A process that forks must have one thread.
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        self._process = Interpreter(python, _MAIN, options, environment)
        self._control = self._process.channel
        self.pid = self._process.pid
        self.machine: Mapping[str, Any] = {}  # as its interpreter has it, once it is warm
        self.closed = False
        self._in_order = True  # no request is without its reply
        self._children: dict[int, Child] = {}
        self._ended: dict[int, Ended] = {}

    def wait_until_warm(self) -> None:
        """Wait for a server that is starting; an EngineError says why it does not."""
        try:
            message = self._process.greeting("the fork server", PROTOCOL)
            if "error" in message:
                raise EngineError(f"the fork server did not warm up: {message['error']}")
        except BaseException:
            self.close()
            raise
        self.machine = message["machine"]

    def load(self, arrays: bytes) -> None:
        """Give future children a check's inputs and expected output, as `dump_check` packs them."""
        self._request({"op": "load"}, arrays)

    def fork(self, role: Role = "worker") -> Child:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                reply = self._request({"op": "fork", "role": role}, descriptors=[theirs.fileno()])
            except BaseException:
                ours.close()
                raise
        child = Child(reply["pid"], Channel(ours), self)
        self._children[child.pid] = child
        return child

    def wait_for_end(self, child: Child) -> Ended:
        deadline = time.monotonic() + _BURIAL_TIMEOUT_S
        while child.pid not in self._ended:
            if self.closed or not self._in_order:
                raise ServerDied
            if wait([self._control.fileno()], max(0.0, deadline - time.monotonic())):
                self._in_order = False
                self._note_end(self._receive())
                self._in_order = True
            else:  # it does not exit by itself, though its channel is closed
                child.kill()
                deadline = time.monotonic() + _BURIAL_TIMEOUT_S
        self._children.pop(child.pid, None)
        return self._ended.pop(child.pid)

    def close(self) -> None:
        """Kill the server and its children, and remove what they wrote; returns when it is gone."""
        if self.closed:
            return
        self.closed = True
        for child in list(self._children.values()):
            child.kill()
            child.channel.close()
        self._children.clear()
        self._process.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _request(
        self,
        message: Mapping[str, Any],
        payload: bytes = b"",
        descriptors: Sequence[int] = (),
    ) -> dict[str, Any]:
        if not self._in_order:  # an interrupt cut one short, whose reply would pass for this one's
            raise ServerDied
        self._in_order = False
        try:
            self._control.send(message, payload, descriptors)
        except ChannelClosed:
            raise ServerDied from None
        while "ended" in (reply := self._receive()):
            self._note_end(reply)
        self._in_order = True
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
            message["code"] == -signal.SIGKILL,
        )
