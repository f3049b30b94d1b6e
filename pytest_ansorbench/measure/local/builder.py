"""Compiles programs in parallel, each in a worker process that keeps what it compiled."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.local.worker import ProgramError, Worker, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.program import Buildable
from pytest_ansorbench.measure.settings import EngineSettings

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check


class Builder:
    """Compiles to machine code in the workers' own memory: no file, no linker."""

    def __init__(
        self,
        supervisor: Supervisor,
        target: Target,
        passes: Mapping[str, Any],
        settings: EngineSettings,
    ) -> None:
        """Prepare to build.

        Args:
            supervisor: Forks the workers.
            target: What to compile for.
            passes: Options of TVM's `PassContext`.
            settings: How many compile at a time, and how long one may take.
        """
        self._supervisor = supervisor
        self._target = str(target)
        self._passes = passes
        self._settings = settings
        self._at_a_time = settings.build_workers or int(target.attrs["num-cores"])

    def build(self, programs: Sequence[Buildable], check: Check | None) -> list[Built]:
        """See `Engine.build`; the handle of what was built is its worker."""
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
                    worker = self._begin(program, text, check)
                    busy[worker] = (waiting.popleft(), started_s)
                for worker in _ready(list(busy)):
                    job, started_s = busy[worker]
                    outcomes[job] = _outcome(worker, started_s)
                    del busy[worker]
            except ServerDied:
                # Its children died with it, which is no fault of theirs.
                waiting.extendleft(sorted((job for job, _ in busy.values()), reverse=True))
                busy.clear()
                self._supervisor.replace(server)
        return [outcomes[job] for job in range(len(programs))]

    def _begin(self, program: Buildable, text: bytes, check: Check | None) -> Worker:
        child = self._supervisor.fork(check)
        worker = Worker(child, program, check, self._settings)
        worker.begin_build(self._target, self._passes, self._settings.build_timeout_s, text)
        return worker


def _outcome(worker: Worker, started_s: float) -> Built:
    """What a worker that has replied, or had its time, came to."""
    try:
        worker.receive()
    except (ProgramError, WorkerTimeout, WorkerDied) as failure:
        ended = worker.end()
        return Built(
            "build-timeout" if isinstance(failure, WorkerTimeout) else "build-error",
            time.monotonic() - started_s,
            error=str(failure) or ended.cause,
            peak_memory_mb=ended.peak_memory_mb,
        )
    return Built("ok", time.monotonic() - started_s, handle=worker)


def _ready(busy: Sequence[Worker]) -> list[Worker]:
    """Wait until some workers have a reply, or have none in time; these workers."""
    patience_s = min(worker.patience_s for worker in busy)
    replied = wait([worker.child.channel.fileno() for worker in busy], patience_s)
    return [w for w in busy if w.child.channel.fileno() in replied or not w.patience_s]
