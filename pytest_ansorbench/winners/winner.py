"""The schedule that a run came to, out of a result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ansorbench.records import CaseResult, Result, Run, TaskRecord
from pytest_ansorbench.packed import unpack_program
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
        machine: Fingerprint of the machine that it was found on.
        latency_s: Seconds a call: measured again at the end of the repeat, or else as in the
            search.
        schedule: The schedule, packed.
        program: The task's program before it is scheduled, packed.
    """

    case: str
    strategy: str
    seed: int
    task: TaskRecord
    place: int
    machine: str
    latency_s: float
    schedule: str
    program: str

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
        yield Winner(
            case=case.case,
            strategy=run.strategy,
            seed=run.seed,
            task=task,
            place=place,
            machine=run.machine,
            latency_s=_again_s(run, trial.index) or trial.latency_s,
            schedule=schedule,
            program=case.programs[place],
        )


def _again_s(run: Run, trial: int) -> float | None:
    """What a trial's program took when it was measured again, if it was."""
    measured = [one for one in (run.final, *(run.leads or ())) if one is not None]
    return next((one.latency_s for one in measured if one.trial == trial), None)
