"""Compiles programs in parallel, each in a worker process."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.measure.local.asking import (
    ProgramFailure,
    WorkerDied,
    WorkerTimeout,
    replied,
)
from pytest_ansorbench.measure.local.fork_server import Child, Ended, ServerDied
from pytest_ansorbench.measure.local.interpreter import Interpreter
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.program import Buildable, Foreign
from pytest_ansorbench.measure.settings import EngineSettings

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_BURIAL_TIMEOUT_S: Final = 10.0
"""A process whose channel was closed is gone within milliseconds."""


def _waiting(worker: Worker) -> Worker:
    """The worker itself: it has machine code in its own memory, no file, no linker, and waits."""
    worker.receive()
    return worker


class Builder:
    """Compiles as many programs at a time as there are build workers."""

    def __init__(
        self,
        supervisor: Supervisor,
        target: Target,
        passes: Mapping[str, Any],
        settings: EngineSettings,
        operation: str = "build",
        handle_of: Callable[[Worker], Any] = _waiting,
    ) -> None:
        """`handle_of` receives the reply, and makes a `Built.handle` of the worker."""
        self._operation = operation
        self._handle_of = handle_of
        self._supervisor = supervisor
        self._target = str(target)
        self._passes = passes
        self._settings = settings
        self._at_a_time = settings.build_workers or threads_of(target)
        self._foreign: list[_ForeignProcess] = []

    def close(self) -> None:
        """End the processes of other libraries, which no fork server ends."""
        while self._foreign:
            self._foreign.pop().close()

    def build(
        self, programs: Sequence[Buildable], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        if any(isinstance(program, Foreign) for program in programs):
            self.close()  # those of a set that was broken off
        timeout_s = self._settings.build_timeout_s
        if limit_s is not None:
            timeout_s = min(timeout_s, limit_s)
        waiting = deque(range(len(programs)))
        busy: dict[Worker, tuple[int, float]] = {}
        outcomes: dict[int, Built] = {}
        while waiting or busy:
            server = self._supervisor.server
            try:
                while waiting and len(busy) < self._at_a_time:
                    program = programs[waiting[0]]
                    # While others compile, which leaves a core to do it on.
                    text = program.serialized()
                    started_s = time.monotonic()
                    worker = self._begin(program, text, check, timeout_s)
                    busy[worker] = (waiting.popleft(), started_s)
                for worker in _ready(list(busy)):
                    job, started_s = busy[worker]
                    outcomes[job] = self._built(worker, started_s)
                    del busy[worker]
            except ServerDied:
                # Its children died with it, which is no fault of theirs.
                waiting.extendleft(sorted((job for job, _ in busy.values()), reverse=True))
                busy.clear()
                self._supervisor.replace(server)
        return [outcomes[job] for job in range(len(programs))]

    def _begin(
        self, program: Buildable, text: bytes, check: Check | None, timeout_s: float
    ) -> Worker:
        if isinstance(program, Foreign):
            self._foreign.append(_ForeignProcess(program))
            child = self._foreign[-1].child
        else:
            child = self._supervisor.fork(check)
        worker = Worker(child, program, check, self._settings)
        worker.begin_build(self._operation, self._target, self._passes, timeout_s, text)
        return worker

    def _built(self, worker: Worker, started_s: float) -> Built:
        """What a worker that has replied, or had its time, came to."""
        try:
            handle = self._handle_of(worker)
        except ProgramFailure as failure:
            ended = worker.end()
            return Built(
                "build-timeout" if isinstance(failure, WorkerTimeout) else "build-error",
                time.monotonic() - started_s,
                error=str(failure) or ended.cause,
                peak_memory_mb=ended.peak_memory_mb,
                was_killed=ended.was_killed and isinstance(failure, WorkerDied),
            )
        return Built("ok", time.monotonic() - started_s, handle=handle)


def _ready(busy: Sequence[Worker]) -> list[Worker]:
    """Wait until some workers have a reply, or have none in time; these workers."""
    done = replied(busy)
    return [worker for worker in busy if worker in done or not worker.patience_s]


class _ForeignProcess:
    """The parent of one child, an interpreter of its own that has another library compile."""

    def __init__(self, program: Foreign) -> None:
        self.closed = False
        self._process = Interpreter(None, program.module, program.arguments, program.environment)
        self.child = Child(self._process.pid, self._process.channel, self)

    def wait_for_end(self, child: Child) -> Ended:
        """How the child ended, which is killed if it does not."""
        if not self._process.ends_within(_BURIAL_TIMEOUT_S):
            child.kill()
        cause, words = self._process.died_of()
        ended = Ended(cause + words, 0.0, self._process.was_killed)
        self.close()
        return ended

    def close(self) -> None:
        """End it; returns when it is gone."""
        if not self.closed:
            self.closed = True
            self._process.close()
