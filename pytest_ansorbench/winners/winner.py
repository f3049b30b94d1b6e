"""The schedules that searches came to, out of a result or out of a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_ansorbench.packed import PackedError, unpack_program
from pytest_ansorbench.records import CaseResult, Remeasurement, Result, Run, TaskRecord
from pytest_ansorbench.search import select, unpack
from pytest_ansorbench.storage import Past, fingerprint
from pytest_ansorbench.storage.entries import CaseEntry, RepeatEntry, RoundEntry

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.strategies.candidate import Candidate

_Key = TypeVar("_Key")

NO_SCHEDULES: Final = "it keeps no schedules: no trial of it was valid; measure again"
"""What is wrong with a result without a winner."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The schedule that won one task in one run."""

    case: str
    strategy: str
    seed: int
    task: TaskRecord
    place: int  # of the task in the case, from 0
    tasks: int  # how many the case has
    machine: str  # fingerprint
    latency_s: float  # measured again at the end of the repeat, or else as in the search
    schedule: str  # packed
    program: str  # the task's before it is scheduled, packed
    caches: str  # as its run has it
    measured: Remeasurement | None = None  # at the end of the repeat
    definition: Mapping[str, Any] | None = None  # of the case, as the file has it

    @property
    def gflops(self) -> float:
        return self.task.flops / self.latency_s / 1e9

    def unscheduled(self) -> IRModule:
        """The task's program before it is scheduled."""
        return unpack_program(self.program)

    def candidate(self) -> Candidate:
        """The scheduled program, made anew by replaying its trace."""
        candidates = unpack(self.schedule, self.unscheduled())
        if len(candidates) != 1:
            raise PackedError(f"expected one packed schedule, got {len(candidates)}")
        return candidates[0]


def fastest_by(winners: Iterable[Winner], key: Callable[[Winner], _Key]) -> dict[_Key, Winner]:
    """The fastest winner of each key, in order of the keys' appearance."""
    best: dict[_Key, Winner] = {}
    for winner in winners:
        known = best.setdefault(key(winner), winner)
        if winner.latency_s < known.latency_s:
            best[key(winner)] = winner
    return best


def winners_of(result: Result) -> Iterator[Winner]:
    """All that a result keeps: one for each task of each run that has a valid trial of it.

    None of a task whose winner did not work when it was measured again.
    """
    for case in result.cases:
        yield from winners_of_case(case)


def winners_of_case(case: CaseResult) -> Iterator[Winner]:
    """All that a result keeps of one case."""
    for run in case.runs:
        yield from _of_run(case, run)


def _of_run(case: CaseResult, run: Run) -> Iterator[Winner]:
    if not case.programs or run.schedules is None or _is_refuted(run):
        return
    for place, (task, trial, schedule) in enumerate(
        zip(run.tasks, run.best_trials, run.schedules, strict=True)
    ):
        if schedule is None or trial is None or trial.latency_s is None:
            continue
        again = _again(run, trial.index)
        if again is not None and again.status != "ok":
            continue
        yield Winner(
            case=case.case,
            strategy=run.strategy,
            seed=run.seed,
            task=task,
            place=place,
            tasks=len(run.tasks),
            machine=run.machine,
            latency_s=again.latency_s if again and again.latency_s else trial.latency_s,
            schedule=schedule,
            program=case.programs[place],
            caches=run.caches,
            measured=again,
            definition=case.definition,
        )


def _again(run: Run, trial: int) -> Remeasurement | None:
    """A trial's program measured again, if it was."""
    measured = [one for one in (run.final, *(run.leads or ())) if one is not None]
    return next((one for one in measured if one.trial == trial), None)


def refuted_in(case: CaseResult) -> Iterator[str]:
    """Schedules that won a run of one task, and did not work when they were measured again."""
    for run in filter(_is_refuted, case.runs):
        yield from (schedule for schedule in run.schedules or () if schedule is not None)


def _is_refuted(run: Run) -> bool:
    return run.final is not None and run.final.status != "ok" and len(run.tasks) == 1


def tuned_in(past: Past, ended: Iterable[CaseResult] = ()) -> Iterator[Winner]:
    """All valid trials of a session, interrupted or not, with their latencies in the search.

    A result keeps the winner of a run; the journal of its session keeps every schedule.

    Args:
        past: The session.
        ended: What searches of it came to. A schedule that won one, and did not work when it was
            measured again, is left out.
    """
    refuted = {schedule for case in ended for schedule in refuted_in(case)}
    cases: dict[str, CaseEntry] = {}
    machines: dict[tuple[str, int], str] = {}
    for entry in past.entries:
        if isinstance(entry, CaseEntry):
            cases[entry.label] = entry
        elif isinstance(entry, RepeatEntry):
            machines[entry.label, entry.seed] = fingerprint(entry.machine)
        elif isinstance(entry, RoundEntry):
            found = _of_round(cases[entry.label], machines[entry.label, entry.seed], entry)
            yield from (one for one in found if one.schedule not in refuted)


def _of_round(case: CaseEntry, machine: str, entry: RoundEntry) -> Iterator[Winner]:
    place = entry.round.task
    for index, trial in enumerate(entry.trials):
        if trial.latency_s is not None:
            yield Winner(
                case=case.case,
                strategy=entry.strategy,
                seed=entry.seed,
                task=case.tasks[place],
                place=place,
                tasks=len(case.tasks),
                machine=machine,
                latency_s=trial.latency_s,
                schedule=select(entry.state.candidates, index),
                program=case.programs[place],
                caches=str(case.conditions.get("caches", "warm")),
                definition=case.definition,
            )
