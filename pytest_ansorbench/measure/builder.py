"""Compiles batches of candidates on warm workers that outlive the batch."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.worker import (
    WARM_UP_TIMEOUT_S,
    Reply,
    Worker,
    WorkerDied,
    WorkerError,
    WorkerTimeout,
)
from pytest_ansorbench.records import TrialStatus

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.target import Target

#: A TVM process that compiles grows by 0.1 to 1 MB a candidate and never shrinks.
BUILDS_PER_WORKER: Final = 300


class BuilderPool:
    """Worker processes that compile candidates in parallel, one each at a time.

    A candidate that crashes or stalls its worker costs that candidate; the worker is replaced
    while the others go on.
    """

    def __init__(self, target: Target, folder: Path, *, workers: int, timeout_s: float) -> None:
        """Start the workers; `wait_until_warm` waits for them.

        Args:
            target: What to compile for.
            folder: Where artifacts and logs go.
            workers: Number of processes.
            timeout_s: Seconds a candidate may take to compile.
        """
        from tvm.ir import save_json

        self._serialize = save_json
        self._target = str(target)
        self._folder = folder
        self._timeout_s = timeout_s
        self._inbox: SimpleQueue[Reply] = SimpleQueue()
        self._logs = (folder / f"builder-{n}.log" for n in itertools.count())
        self._artifacts = (folder / f"candidate-{n}.so" for n in itertools.count())
        self._idle: list[Worker] = []
        self._busy: dict[Worker, tuple[int | None, float]] = {}
        for _ in range(workers):
            self._start_worker()

    def wait_until_warm(self) -> None:
        """Wait for workers that are starting.

        Raises:
            WorkerError: One did not start; the message holds the cause.
        """
        while self._busy:
            self._next_reply()

    def build(self, mods: Sequence[IRModule]) -> list[Built]:
        """Compile candidates.

        Args:
            mods: The scheduled modules.

        Returns:
            One outcome per module, in the same order.

        Raises:
            WorkerError: A replacement for a dead worker did not start.
        """
        waiting = deque(range(len(mods)))
        artifacts = [next(self._artifacts) for _ in mods]
        outcomes: dict[int, Built] = {}
        while len(outcomes) < len(mods):
            while waiting and self._idle:
                job = waiting.popleft()
                self._give(job, self._serialize(mods[job]), artifacts[job])
            done, message = self._next_reply()
            if done is None:
                continue  # a replacement has warmed up
            if isinstance(message, WorkerError):
                timed_out = isinstance(message, WorkerTimeout)
                status: TrialStatus = "build-timeout" if timed_out else "build-error"
                outcomes[done] = Built(status, None, str(message))
            elif "error" in message:
                outcomes[done] = Built("build-error", None, str(message["error"]))
            else:
                outcomes[done] = Built("ok", artifacts[done])
        return [outcomes[job] for job in range(len(mods))]

    def refresh(self) -> None:
        """Replace workers that have compiled enough, and wait until the new ones are warm."""
        for worker in [w for w in self._idle if w.requests > BUILDS_PER_WORKER]:
            self._idle.remove(worker)
            worker.kill()
            self._start_worker()
        self.wait_until_warm()

    def close(self) -> None:
        """Kill all workers."""
        for worker in [*self._idle, *self._busy]:
            worker.kill()
        self._idle.clear()
        self._busy.clear()

    def _start_worker(self) -> None:
        worker = Worker(next(self._logs), threads=1, work="build", inbox=self._inbox)
        self._busy[worker] = (None, time.monotonic() + WARM_UP_TIMEOUT_S)

    def _give(self, job: int, mod: str, artifact: Path) -> None:
        worker = self._idle.pop()
        self._busy[worker] = (job, time.monotonic() + self._timeout_s)
        worker.send({"op": "build", "mod": mod, "target": self._target, "artifact": str(artifact)})

    def _next_reply(self) -> tuple[int | None, dict[str, Any] | WorkerError]:
        """Wait until a busy worker replies, dies or runs out of time; keep the pool full.

        Returns:
            The worker's job, None for its warm-up, and the reply or why there is none.
        """
        while True:
            overdue = min(self._busy, key=lambda worker: self._busy[worker][1])
            patience_s = self._busy[overdue][1] - time.monotonic()
            message: dict[str, Any] | WorkerError
            try:
                reply = self._inbox.get(timeout=max(patience_s, 0.0))
            except Empty:
                worker = overdue
                message = WorkerTimeout(f"no result after {self._timeout_s:g} s")
            else:
                worker = reply.worker
                if worker in self._idle:  # it died between two jobs
                    self._idle.remove(worker)
                    worker.kill()
                    self._start_worker()
                if worker not in self._busy:
                    continue  # the last message of a worker that was killed
                message = reply.message or {}
                if reply.message is None:
                    message = WorkerDied(worker.cause_of_death())
            job, _ = self._busy.pop(worker)
            if isinstance(message, WorkerError):
                worker.kill()
                if job is None:
                    raise WorkerError(f"a build worker did not start: {message}")
                self._start_worker()
            elif job is None and "error" in message:
                worker.kill()
                raise WorkerError(f"a build worker did not warm up: {message['error']}")
            else:
                self._idle.append(worker)
            return job, message
