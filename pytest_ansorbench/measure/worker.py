"""A child process that does one request at a time, seen from the parent's side.

Candidates are compiled and run in children, because a candidate may crash, hang or write
where it should not. Requests and replies are JSON lines over the child's standard input and
output: no pickle, nothing to set up, and the end of the stream is the child's death. A
`Worker` is one process for one life; whoever needs another starts another.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal

Work = Literal["build", "run"]

#: Importing TVM, compiling and linking a first kernel takes 2 s here; a cold disk takes longer.
WARM_UP_TIMEOUT_S: Final = 180.0


class WorkerError(Exception):
    """A request got no reply; the message says why, and the worker is dead."""


class WorkerDied(WorkerError):
    """The process ended while it worked on the request."""


class WorkerTimeout(WorkerError):
    """The request took longer than allowed, and the process was killed."""


class Worker:
    """One child process, in a session of its own so that it and its children die together.

    Attributes:
        requests: Requests sent so far.
    """

    def __init__(
        self, log: Path, *, threads: int, work: Work, inbox: SimpleQueue[Reply] | None = None
    ) -> None:
        """Start the process and ask it to warm up; the reply to that comes to the inbox.

        Args:
            log: File that collects what the child and its compilers write to standard error.
            threads: Threads that a kernel may use.
            work: What it will be asked to do, and so has to warm up for.
            inbox: Where replies go, to be shared between workers; its own by default.
        """
        self.requests = 0
        self._log = log
        self._inbox: SimpleQueue[Reply] = inbox if inbox is not None else SimpleQueue()
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest_ansorbench.measure.worker_main"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "TVM_NUM_THREADS": str(threads)},
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.send({"op": "warm-up", "work": work, "scratch": str(log.with_suffix(".so"))})

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; the reply, or the news of the child's death, comes to the inbox."""
        self.requests += 1
        assert self._process.stdin is not None
        # A dead child is reported by the reader thread, once.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """Wait for the reply to the last request of a worker that has its own inbox.

        Args:
            timeout_s: Seconds to wait before the worker is killed.

        Returns:
            The reply.

        Raises:
            WorkerTimeout: It took longer.
            WorkerDied: The process ended instead.
        """
        try:
            reply = self._inbox.get(timeout=timeout_s)
        except Empty:
            self.kill()
            raise WorkerTimeout(f"no result after {timeout_s:g} s") from None
        if reply.message is None:
            raise WorkerDied(self.cause_of_death())
        return reply.message

    def cause_of_death(self) -> str:
        """What ended the process: its signal or exit code, and its last words if any."""
        code = self._process.wait()
        if code < 0:
            with contextlib.suppress(ValueError):
                code_text = f"worker died of {signal.Signals(-code).name}"
                return code_text + self._last_words()
        return f"worker exited with code {code}" + self._last_words()

    def kill(self) -> None:
        """End the process and everything it started; returns when it is gone."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:  # pragma: no cover - Windows has no process groups to kill
                    self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._inbox.put(Reply(self, json.loads(line)))
        self._inbox.put(Reply(self, None))

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came from a worker: a message, or None for its death."""

    worker: Worker
    message: dict[str, Any] | None
