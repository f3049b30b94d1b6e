"""Measures programs on a device: one alone, or beside the incumbent in the same session."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from pytest_ansorbench.measure.local.asking import (
    ProgramError,
    WorkerDied,
    WorkerTimeout,
    WrongOutput,
)
from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.runner import status_of
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import ColdMeasurement, ComparingMeasurement, Measurement
from pytest_ansorbench.measure.remote.relay import Relays, RemoteProgram
from pytest_ansorbench.measure.settings import EngineSettings


class RemoteRunner:
    """Runs one program at a time. Whatever goes wrong in a session costs the session."""

    def __init__(self, supervisor: Supervisor, relays: Relays, settings: EngineSettings) -> None:
        """Prepare to run.

        Args:
            supervisor: Replaces a fork server that dies.
            relays: The session with the device.
            settings: How long a program may take, and which outputs are checked.
        """
        self._supervisor = supervisor
        self._relays = relays
        self._settings = settings

    def attempt(self, program: RemoteProgram, work: Callable[[], tuple[float, ...]]) -> Measured:
        """Do something with a program.

        Args:
            program: The program; the session is open.
            work: Returns seconds per call, one entry a sample.

        Raises:
            ServerDied: The fork server died, and the session with it.
        """
        try:
            program.allow(self._settings.run_timeout_s)
            return Measured("ok", work())
        except WrongOutput as wrong:
            return Measured(status_of(wrong), error=str(wrong))
        except (ProgramError, WorkerTimeout, WorkerDied) as failure:
            self._relays.drop()
            error = str(failure) or "the session with the device ended"
            return Measured(status_of(failure), error=error)

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
        policy = ColdMeasurement() if self._settings.flush_mb else measurement
        rival = None if incumbent is None else incumbent.handle
        while True:
            try:
                outcome = self._measured(built, policy, best_s, rival)
                break
            except ServerDied:
                self._relays.forget()
                self._supervisor.replace(self._supervisor.server)
        self._supervisor.note_success()
        return replace(outcome, build_s=built.build_s, run_s=time.monotonic() - started_s)

    def _measured(
        self,
        built: Built,
        policy: Measurement,
        best_s: float | None,
        rival: RemoteProgram | None,
    ) -> Measured:
        program: RemoteProgram = built.handle
        self._relays.ready(program.check)
        took_lead = False

        def work() -> tuple[float, ...]:
            nonlocal took_lead
            program.make_arguments()
            if rival is None or best_s is None or not isinstance(policy, ComparingMeasurement):
                samples = policy.measure(program, best_s)
            else:
                rival.make_arguments()
                samples = policy.compare(program, rival, best_s)
            took_lead = best_s is None or statistics.median(samples) < best_s
            if took_lead or self._settings.check == "all":
                program.verify()
            return samples

        outcome = self.attempt(program, work)
        if outcome.status == "ok" and took_lead and isinstance(policy, ComparingMeasurement):
            return replace(outcome, kept=Built("ok", 0.0, handle=program))
        program.end()
        return outcome
