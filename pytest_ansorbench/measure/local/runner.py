"""Measures programs that wait in their workers: one alone, or several in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from pytest_ansorbench.measure.local.asking import (
    ProgramError,
    WorkerDied,
    WorkerTimeout,
    WrongOutput,
)
from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.incumbent import Incumbent, IncumbentLost
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import (
    ColdMeasurement,
    ComparingMeasurement,
    Measurement,
    NetworkMeasurement,
)
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import TrialStatus

#: Failures of a run that have a status of their own.
_RUN_STATUS: Final[Mapping[type[Exception], TrialStatus]] = {
    WorkerTimeout: "run-timeout",
    WrongOutput: "wrong-result",
}


class Runner:
    """Runs one program at a time."""

    def __init__(self, supervisor: Supervisor, builder: Builder, settings: EngineSettings) -> None:
        """Prepare to run.

        Args:
            supervisor: Replaces a fork server that dies.
            builder: Compiles again what was lost with the server.
            settings: How long a program may take, and which outputs are checked.
        """
        self._supervisor = supervisor
        self._builder = builder
        self._settings = settings

    def run(
        self,
        built: Built,
        measurement: Measurement,
        best_s: float | None,
        incumbent: Built | None,
    ) -> Measured:
        """See `Engine.run`."""
        if built.handle is None:
            return Measured.not_run(built)
        started_s = time.monotonic()
        policy = self._policy(built.handle, measurement)
        outcome = self._run(built.handle, policy, best_s, incumbent)
        return replace(outcome, build_s=built.build_s, run_s=time.monotonic() - started_s)

    def attempt(self, worker: Worker, work: Callable[[], tuple[float, ...]]) -> Measured:
        """Do something with a program; if that fails, its worker has ended.

        Args:
            worker: Where the program is.
            work: Returns seconds per call, one entry a sample.

        Raises:
            ServerDied: The fork server died, and the worker with it.
        """
        worker.allow(self._settings.run_timeout_s)
        try:
            return Measured("ok", work())
        except (ProgramError, WorkerTimeout, WorkerDied, WrongOutput) as failure:
            ended = worker.end()
            return Measured(
                status_of(failure),
                error=str(failure) or ended.cause,
                peak_memory_mb=ended.peak_memory_mb,
            )

    def _run(
        self, worker: Worker, policy: Measurement, best_s: float | None, incumbent: Built | None
    ) -> Measured:
        """Measure a program; if the fork server has died, compile it again first."""
        rival = _rival(policy, incumbent)
        while True:
            try:
                if rival is not None and not rival.lives_on(self._supervisor.server):
                    raise IncumbentLost
                outcome = self._measured(worker, policy, best_s, rival)
            except IncumbentLost:
                rival = None
            except ServerDied:
                self._supervisor.replace(worker.child.server)
                [built] = self._builder.build([worker.program], worker.check)
                if built.handle is None:
                    return Measured.not_run(built)
                worker = built.handle
            else:
                self._supervisor.note_success()
                lost = rival is None and _rival(policy, incumbent) is not None
                return replace(outcome, lost_incumbent=lost)

    def _measured(
        self, worker: Worker, policy: Measurement, best_s: float | None, rival: Incumbent | None
    ) -> Measured:
        """Measure a program, check it, and keep it if policies may want it again.

        Raises:
            IncumbentLost: The incumbent failed; the program is as it was.
            ServerDied: The fork server died, and the worker with it.
        """
        took_lead = False

        def work() -> tuple[float, ...]:
            nonlocal took_lead
            worker.make_arguments()
            samples = self._samples(worker, policy, best_s, rival)
            took_lead = best_s is None or statistics.median(samples) < best_s
            if took_lead or self._settings.check == "all":
                worker.verify()
            return samples

        outcome = self.attempt(worker, work)
        if outcome.status != "ok":
            return outcome
        if took_lead and isinstance(policy, ComparingMeasurement):
            kept = Built("ok", 0.0, handle=worker)
            return replace(outcome, peak_memory_mb=worker.child.peak_memory_mb, kept=kept)
        return replace(outcome, peak_memory_mb=worker.end().peak_memory_mb)

    def _samples(
        self, worker: Worker, policy: Measurement, best_s: float | None, rival: Incumbent | None
    ) -> tuple[float, ...]:
        if rival is None or best_s is None or not isinstance(policy, ComparingMeasurement):
            return policy.measure(worker, best_s)
        rival.wake(self._settings.run_timeout_s)
        return policy.compare(worker, rival, best_s)

    def _policy(self, worker: Worker, measurement: Measurement) -> Measurement:
        """A policy for calls that something precedes, in place of a strategy's."""
        if worker.surroundings is not None:
            return NetworkMeasurement()
        return ColdMeasurement() if self._settings.flush_mb else measurement


def status_of(failure: Exception) -> TrialStatus:
    """The status of a trial that failed when it was run."""
    return _RUN_STATUS.get(type(failure), "run-error")


def _rival(policy: Measurement, incumbent: Built | None) -> Incumbent | None:
    """The incumbent, if the policy compares with it."""
    if incumbent is None or incumbent.handle is None:
        return None
    return Incumbent(incumbent.handle) if isinstance(policy, ComparingMeasurement) else None
