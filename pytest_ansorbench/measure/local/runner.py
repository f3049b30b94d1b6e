"""Measures programs that wait to be run, here or on a device: one alone, or beside a leader."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from pytest_ansorbench.measure.engine import CrashedError, UntunedError
from pytest_ansorbench.measure.local.asking import ProgramFailure, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.local.fork_server import ServerDied
from pytest_ansorbench.measure.local.runnable import Runnable, WrongOutput
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.outcomes import Built, Computed, Measured
from pytest_ansorbench.measure.policy import (
    ColdMeasurement,
    ComparingMeasurement,
    Measurement,
    NetworkMeasurement,
)
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import TrialStatus

_Answer = TypeVar("_Answer")

MOST_KILLS: Final = 3
"""So often a process is killed by somebody else before that counts as its program's failure: what
is killed each time may be what memory runs out of."""
_RUN_STATUS: Final[Mapping[type[ProgramFailure], TrialStatus]] = {
    WorkerTimeout: "run-timeout",
    WrongOutput: "wrong-result",
}
"""Of failures that have a status of their own."""


class Runner:
    """Runs one program at a time, and tells failures of programs from those of the fork server."""

    def __init__(
        self,
        supervisor: Supervisor,
        restored: Callable[[Any], Built],
        settings: EngineSettings,
    ) -> None:
        """Prepare to run; `restored` replaces a server that died, and the program that it cost."""
        self._supervisor = supervisor
        self._restored = restored
        self._settings = settings

    @property
    def is_cold(self) -> bool:
        """Whether caches are emptied before what is timed."""
        return self._settings.flush_mb > 0

    def run(
        self,
        built: Built,
        measurement: Measurement,
        best_s: float | None,
        incumbent: Built | None,
    ) -> Measured:
        if built.handle is None:
            return Measured.not_run(built)
        started_s = time.monotonic()
        policy = self._policy(built.handle, measurement)
        outcome = self._run(built.handle, policy, best_s, incumbent)
        return replace(outcome, build_s=built.build_s, run_s=time.monotonic() - started_s)

    def outputs(self, build: Callable[[], Built]) -> Computed:
        """What a program computes, in one call with each inputs, after which it ends.

        One whose process somebody has killed is built again.
        """
        computed: list[Computed] = []

        def call(program: Runnable) -> tuple[float, ...]:
            program.make_arguments()
            seconds = program.first_call()
            computed.append(Computed(*program.outputs(), seconds))
            program.end()
            return (seconds,)

        kills, built = 0, build()
        while True:
            outcome, error = Measured.not_run(built), f"{built.status}: {built.error}"
            if built.handle is not None:
                try:
                    outcome = self.attempt(built.handle, call)
                except ServerDied:
                    built = self._restored(built.handle)
                    continue
                error = outcome.error
            if outcome.status == "ok":
                return computed[-1]
            kills += outcome.was_killed
            if not outcome.was_killed or kills == MOST_KILLS:
                crashed = outcome.was_killed or outcome.status == "run-error"
                raise (CrashedError if crashed else UntunedError)(error)
            built = build()

    def attempt(
        self, program: Runnable, work: Callable[[Runnable], tuple[float, ...] | None]
    ) -> Measured:
        """Do something with a program that may give samples; if the program fails, it has ended."""
        try:
            program.allow(self._settings.run_timeout_s)
            return Measured("ok", work(program) or ())
        except ProgramFailure as failure:
            ended = program.give_up(failure)
            return Measured(
                _RUN_STATUS.get(type(failure), "run-error"),
                error=str(failure) or ended.cause,
                peak_memory_mb=ended.peak_memory_mb,
                was_killed=ended.was_killed and isinstance(failure, WorkerDied),
            )

    def _run(
        self, program: Runnable, policy: Measurement, best_s: float | None, incumbent: Built | None
    ) -> Measured:
        """Measure a program; without the leader if that fails, again if the server has died."""
        leader: _Leader | None = None
        lost = False
        if incumbent is not None and incumbent.handle is not None:
            leader = _Leader(incumbent.handle)
        while True:
            try:
                outcome = self._measured(program, policy, best_s, leader)
            except _LeaderLost:
                leader, lost = None, True
            except ServerDied:
                built = self._restored(program)
                if built.handle is None:
                    return Measured.not_run(built)
                program = built.handle
            else:
                self._supervisor.note_success()
                return replace(outcome, lost_incumbent=lost)

    def _measured(
        self, program: Runnable, policy: Measurement, best_s: float | None, leader: _Leader | None
    ) -> Measured:
        """Measure a program, check it, and keep it if policies may want it again."""
        took_lead = False

        def work(program: Runnable) -> tuple[float, ...]:
            nonlocal took_lead
            program.make_arguments()
            samples = self._samples(program, policy, best_s, leader)
            took_lead = best_s is None or statistics.median(samples) < best_s
            if took_lead or self._settings.check == "all":
                program.verify()
            return samples

        outcome = self.attempt(program, work)
        if outcome.status != "ok":
            return outcome
        if took_lead and isinstance(policy, ComparingMeasurement):
            kept = Built("ok", 0.0, handle=program)
            return replace(outcome, peak_memory_mb=program.peak_memory_mb, kept=kept)
        return replace(outcome, peak_memory_mb=program.end().peak_memory_mb)

    def _samples(
        self, program: Runnable, policy: Measurement, best_s: float | None, leader: _Leader | None
    ) -> tuple[float, ...]:
        if leader is None or best_s is None or not isinstance(policy, ComparingMeasurement):
            return policy.measure(program, best_s)
        leader.wake(self._settings.run_timeout_s)
        return policy.compare(program, leader, best_s)

    def _policy(self, program: Runnable, measurement: Measurement) -> Measurement:
        """A policy for calls that something precedes, in place of a strategy's."""
        if program.surroundings is not None:
            return NetworkMeasurement()
        return ColdMeasurement() if self.is_cold else measurement


class _LeaderLost(Exception):
    """The leader failed, which is no fault of the candidate that runs beside it."""


class _Leader:
    """A `Stopwatch` on the leader that tells its failures from a candidate's: `_LeaderLost`."""

    def __init__(self, program: Runnable) -> None:
        self._program = program

    def wake(self, timeout_s: float) -> None:
        """Give it so many seconds for what follows, and its arguments if it was built again."""
        if not self._program.is_there:
            raise _LeaderLost
        self._of_its_own(lambda: self._program.allow(timeout_s))
        self._of_its_own(self._program.make_arguments)

    def first_call(self) -> float:
        return self._of_its_own(self._program.first_call)

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        return self._of_its_own(lambda: self._program.time(calls, samples))

    def _of_its_own(self, request: Callable[[], _Answer]) -> _Answer:
        try:
            return request()
        except ProgramFailure as failure:
            self._program.kill()
            raise _LeaderLost from failure
