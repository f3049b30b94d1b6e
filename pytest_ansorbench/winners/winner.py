"""The schedule that a run came to, out of a result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ansorbench.packed import unpack_program
from pytest_ansorbench.records import CaseResult, Remeasurement, Result, Run, TaskRecord
from pytest_ansorbench.search import unpack

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.strategies.candidate import Candidate


@dataclass(frozen=True, slots=True)
class Winner:
    """The schedule that won one task in one run.

    Attributes:
        case: The case's id.
        strategy: The arm.
        seed: The run's seed.
        task: The task.
        place: The task's place in the case, from 0.
        tasks: How many tasks the case has.
        machine: Fingerprint of the machine that it was found on.
        latency_s: Seconds a call: measured again at the end of the repeat, or else as in the
            search.
        measured: That measurement at the end; None if there was none.
        schedule: The schedule, packed.
        program: The task's program before it is scheduled, packed.
    """

    case: str
    strategy: str
    seed: int
    task: TaskRecord
    place: int
    tasks: int
    machine: str
    latency_s: float
    schedule: str
    program: str
    measured: Remeasurement | None = None

    @property
    def gflops(self) -> float:
        """Throughput in GFLOP/s."""
        return self.task.flops / self.latency_s / 1e9

    def unscheduled(self) -> IRModule:
        """The task's program before it is scheduled.

        Raises:
            PackedError: This version of TVM cannot read it.
        """
        return unpack_program(self.program)

    def candidate(self) -> Candidate:
        """The scheduled program, made anew by replaying its trace.

        Raises:
            PackedError: The schedule does not apply, or this version of TVM cannot read it.
        """
        [candidate] = unpack(self.schedule, self.unscheduled())
        return candidate


def winners_of(result: Result) -> Iterator[Winner]:
    """All that a result keeps: one for each task of each run that has a valid trial of it.

    Results of before schema version 8 keep none.

    Args:
        result: The result.

    Yields:
        Winners, in order of cases, runs and tasks.
    """
    for case in result.cases:
        for run in case.runs:
            yield from _of_run(case, run)


def _of_run(case: CaseResult, run: Run) -> Iterator[Winner]:
    if not case.programs or run.schedules is None:
        return
    for place, (task, trial, schedule) in enumerate(
        zip(run.tasks, run.best_trials, run.schedules, strict=True)
    ):
        if schedule is None or trial is None or trial.latency_s is None:
            continue
        again = _again(run, trial.index)
        yield Winner(
            case=case.case,
            strategy=run.strategy,
            seed=run.seed,
            task=task,
            place=place,
            tasks=len(run.tasks),
            machine=run.machine,
            latency_s=(again.latency_s if again else None) or trial.latency_s,
            schedule=schedule,
            program=case.programs[place],
            measured=again,
        )


def _again(run: Run, trial: int) -> Remeasurement | None:
    """A trial's program measured again, if it was and could be."""
    measured = [one for one in (run.final, *(run.leads or ())) if one is not None]
    return next((one for one in measured if one.trial == trial and one.status == "ok"), None)
