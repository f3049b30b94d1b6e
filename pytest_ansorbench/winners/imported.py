"""A user's own tuning logs, a database of MetaSchedule's, as runs of an arm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import (
    SCHEMA_VERSION,
    CaseResult,
    Result,
    Round,
    Run,
    TaskRecord,
    Trial,
)
from pytest_ansorbench.storage import fingerprint
from pytest_ansorbench.winners.reading import Tuned, read_database
from pytest_ansorbench.workloads.definition import definition_of

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.workloads.case import Case, Task


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a database."""

    result: Result  # a run of each case and target that it has records of
    records: int  # that were taken
    left_out: int  # of programs that no case has, or without a latency
    dropped: tuple[str, ...]  # lines that were cut short


def import_database(folder: Path, cases: Iterable[Case], strategy: str) -> Imported:
    """Read a database as one run of each case whose tasks it has, and of each target.

    Its records say neither when they were measured nor on what, so that a run has no search time
    and its machine nothing but a target. Its schedules are what it is good for. Runs of several
    targets have seeds from 0.
    """
    records, dropped = read_database(folder)
    results = []
    machines: dict[str, Any] = {}
    taken: set[Tuned] = set()
    for case in {one.id: one for one in cases}.values():  # given twice, it is one case
        tasks = case.tasks()
        found = [_of_task(records, task.mod) for task in tasks]
        if not any(found):
            continue
        taken.update(*found)  # two cases may have a task in common
        runs: list[Run] = []
        for target in dict.fromkeys(one.target for of_task in found for one in of_task):
            machine = {"target": target}
            machines[fingerprint(machine)] = machine
            measured = [[one for one in of_task if one.target == target] for of_task in found]
            runs.append(_run(case, tasks, measured, strategy, len(runs), fingerprint(machine)))
        programs = tuple(pack_program(task.mod) for task in tasks)
        definition = definition_of(case)
        results.append(
            CaseResult(
                case.id, (strategy,), tuple(runs), (), programs=programs, definition=definition
            )
        )
    result = Result(
        schema_version=SCHEMA_VERSION,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machines=machines,
        commit={},
        settings={},
        cases=tuple(results),
    )
    return Imported(result, len(taken), len(records) - len(taken), dropped)


def _of_task(records: Sequence[Tuned], mod: IRModule) -> list[Tuned]:
    from tvm_ffi import structural_equal

    return [one for one in records if one.is_valid and structural_equal(one.mod, mod)]


def _run(
    case: Case,
    tasks: Sequence[Task],
    found: Sequence[Sequence[Tuned]],
    strategy: str,
    seed: int,
    machine: str,
) -> Run:
    """One round for each task, its records the trials."""
    rounds: list[Round] = []
    trials: list[Trial] = []
    for place, records in enumerate(found):
        if not records:
            continue
        rounds.append(Round(len(rounds) + 1, 0.0, 0.0, 0.0, 0.0, task=place))
        for record in records:
            trials.append(Trial(len(rounds), len(trials), "ok", record.latencies_s, -1, 0.0))
    return Run(
        case=case.id,
        strategy=strategy,
        seed=seed,
        budget_trials=len(trials),
        round_trials=max(map(len, found)),
        flops=case.flops,
        tasks=tuple(TaskRecord(task.name, task.weight, task.flops, ()) for task in tasks),
        rounds=tuple(rounds),
        trials=tuple(trials),
        machine=machine,
        schedules=tuple(_best(records) for records in found),
    )


def _best(records: Sequence[Tuned]) -> str | None:
    """As `Run.best_trials` chooses: by the median, the earliest of equals."""
    best = min(records, key=lambda one: median(one.latencies_s), default=None)
    return None if best is None else best.schedule
