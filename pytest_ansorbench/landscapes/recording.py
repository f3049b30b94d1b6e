"""Measures a sub-space point by point; what is measured is on disk before the next point."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.codec import dump_json, from_json, parse_json, to_json
from pytest_ansorbench.cores import pinned_to
from pytest_ansorbench.landscapes.choosing import chosen
from pytest_ansorbench.landscapes.files import read_landscape, write_landscape
from pytest_ansorbench.landscapes.programs import (
    UnrecordableError,
    design_of,
    program_hash,
    program_of,
)
from pytest_ansorbench.landscapes.records import (
    Configuration,
    Landscape,
    PointRecord,
    SketchRecord,
    Subject,
    Times,
    configurations,
)
from pytest_ansorbench.measure.policy import Stopwatch
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.untuned import task_check
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import TaskRecord
from pytest_ansorbench.storage import Journal, StorageError, fingerprint, read_peak
from pytest_ansorbench.storage.numbered import stored_name
from pytest_ansorbench.strategies import ScheduledProgram
from pytest_ansorbench.strategies.decisions.traced import TracedDesign
from pytest_ansorbench.travel import recorded
from pytest_ansorbench.workloads.case import case_version

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Case, Task

_MOST_ERROR: Final = 200
"""Characters of an error that are kept."""


@dataclass(frozen=True)
class Effort:
    """How a landscape is recorded.

    Attributes:
        points: At most so many.
        seed: Of the choice of points, and of the order in which they are measured.
        slices: Samples of each program.
        slice_ms: Milliseconds that each lasts, at least a call.
        build_limit_s: Seconds that a program may compile; one that takes longer has failed.
        license: SPDX identifier of what the file may be used under.
    """

    points: int = 3_000
    seed: int = 0
    slices: int = 5
    slice_ms: float = 10.0
    build_limit_s: float = 5.0
    license: str = "CC0-1.0"

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """The slices, after a call that says how many calls each is of."""
        [once_s] = kernel.time(1)
        return kernel.time(max(1, math.ceil(self.slice_ms / 1e3 / once_s)), self.slices)

    def conditions(self) -> dict[str, Any]:
        """All of it but the license."""
        return {name: value for name, value in asdict(self).items() if name != "license"}


@dataclass(frozen=True)
class Advance:
    """How far a recording is."""

    case: str
    done: int
    points: int
    failed: int
    left_s: float  # at the pace of this call


@dataclass(frozen=True)
class _Line:
    """A point in the journal."""

    place: int
    build_wall_s: float  # its share of what the batch took to build; 0 if it was not in one
    result: PointRecord


def record(
    case: Case,
    engine: Engine,
    effort: Effort,
    folder: Path,
    *,
    storage: Path,
    root: Path,
    tell: Callable[[Advance], None],
) -> Path:
    """Record the landscape of a case into a folder; its file is `CASE.json.gz`.

    A journal beside it, `CASE.jsonl`, has each point once it is measured. The same call goes on
    from there; where the landscape is whole already, it does nothing.

    Args:
        case: An operator.
        engine: A started one.
        effort: How.
        folder: Where to.
        storage: Folder that may have the machine's peak.
        root: Of the project, whose cases may be defined there.
        tell: Is told after each point.

    Raises:
        UnrecordableError: The case has several tasks, or no decisions, or the target is no CPU.
        StorageError: What is in the folder is of another effort, case or machine, or is damaged.
        EngineError: The engine gave up.
    """
    kind = engine.target.kind.name
    if kind != "llvm":
        raise UnrecordableError(
            f"bad target of kind {kind!r}: landscapes keep nothing of what a GPU allows; expected "
            "llvm, a CPU"
        )
    task = _only_task(case)
    if task.check is None:
        task = replace(task, check=task_check(engine, task))
    design, sketches = _design(case, task, engine.target)
    rng = np.random.default_rng(effort.seed)
    machine = fingerprint(engine.machine)
    subject = Subject(
        license=effort.license,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        case=case.id,
        version=case_version(case, [task]),
        definition=recorded(case, root),
        task=TaskRecord(task.name, task.weight, task.flops, sketches),
        program=pack_program(task.mod),
        machine=engine.machine,
        peak=read_peak(storage, machine, "float32", pinned_to(None)),
        registers=design.registers,
        conditions=effort.conditions(),
        sketches=tuple(map(SketchRecord.of, chosen(design, effort.points, rng))),
    )
    path = folder / f"{stored_name(case.id)}.json.gz"
    if path.exists():
        _check_same(read_landscape(path).subject, subject, path)
        return path
    order = rng.permutation(subject.size).tolist()
    with _Journal(path.with_name(path.name.replace(".json.gz", ".jsonl")), subject) as journal:
        lines = journal.lines
        first, started_s = len(lines), time.monotonic()
        failed = sum(not one.result.correctness for one in lines.values())
        for line in _measured(task, design, engine, effort, journal, order):
            journal.append(line)
            failed += not line.result.correctness
            done, elapsed_s = len(lines), time.monotonic() - started_s
            left_s = elapsed_s / (done - first) * (subject.size - done)
            tell(Advance(case.id, done, subject.size, failed, left_s))
        built = [one for one in lines.values() if one.build_wall_s]
        wall_s = sum(one.build_wall_s for one in built)
        build_s = sum(one.result.times.compilation_time for one in built)
        results = tuple(lines[place].result for place in range(subject.size))
        at_once = build_s / wall_s if build_s and wall_s else 1.0
        write_landscape(Landscape.of(journal.subject, results, at_once), path)
        journal.remove()
    return path


def _only_task(case: Case) -> Task:
    tasks = case.tasks()
    if len(tasks) != 1:
        raise UnrecordableError(
            f"bad case {case.id!r}: it has {len(tasks)} tasks; expected an operator, e.g. "
            "matmul-b1-m512-n512-k512"
        )
    return tasks[0]


def _design(case: Case, task: Task, target: Target) -> tuple[TracedDesign, tuple[str, ...]]:
    try:
        return design_of(task, target)
    except UnrecordableError as error:
        raise UnrecordableError(f"bad case {case.id!r}: {error}") from None


def _measured(
    task: Task,
    design: TracedDesign,
    engine: Engine,
    effort: Effort,
    journal: _Journal,
    order: Sequence[int],
) -> Iterator[_Line]:
    """Points that the journal lacks, in an order that has nothing to do with their decisions."""
    points = configurations(journal.subject)
    known = {line.result.program: line.result for line in journal.lines.values()}
    left = [place for place in order if place not in journal.lines]
    for start in range(0, len(left), engine.capacity):
        places = left[start : start + engine.capacity]
        made = design.maker.map(lambda place: program_of(design, points[place]), places)
        fresh: dict[str, tuple[int, ScheduledProgram]] = {}
        twins: list[tuple[int, str]] = []
        for place, program in zip(places, made, strict=True):
            if program is None:
                yield _Line(place, 0.0, PointRecord.no_program(points[place]))
            elif (name := program_hash(program)) in known or name in fresh:
                twins.append((place, name))
            else:
                fresh[name] = place, program
        for line in _batch(task, engine, effort, points, fresh):
            known[line.result.program] = line.result
            yield line
        for place, name in twins:
            twin = replace(known[name], configuration=points[place])
            yield _Line(place, 0.0, twin)


def _batch(
    task: Task,
    engine: Engine,
    effort: Effort,
    points: Sequence[Configuration],
    fresh: dict[str, tuple[int, ScheduledProgram]],
) -> Iterator[_Line]:
    """Build some programs, then run them one after the other."""
    started_s = time.monotonic()
    candidates = [program.candidate() for _, program in fresh.values()]
    built = engine.build(
        [Program.kernel(one.mod, one.args_info, task.surroundings) for one in candidates],
        task.check,
        limit_s=effort.build_limit_s,
    )
    wall_s = (time.monotonic() - started_s) / max(1, len(built))
    done = 0
    try:
        for (name, (place, _)), program in zip(fresh.items(), built, strict=True):
            # Without a best one every output is checked.
            outcome = engine.run(program, effort)
            done += 1
            times = Times(outcome.build_s, outcome.run_s, outcome.latencies_s)
            result = PointRecord.measured(
                points[place], name, outcome.status, times, outcome.error[:_MOST_ERROR]
            )
            yield _Line(place, wall_s, result)
    finally:
        for program in built[done:]:
            engine.discard(program)


class _Journal:
    """The points of a landscape that is not whole yet, one a line after the subject's."""

    def __init__(self, path: Path, subject: Subject) -> None:
        self._path = path
        self.subject = subject
        self.lines: dict[int, _Line] = {}

    def __enter__(self) -> _Journal:
        self._journal, lines = Journal.opened(self._path)
        try:
            if lines:
                self._read(lines)
            else:
                self._write(self.subject)
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()

    def append(self, line: _Line) -> None:
        self._write(line)
        self.lines[line.place] = line

    def remove(self) -> None:
        self._path.unlink()

    def _read(self, lines: Sequence[bytes]) -> None:
        for number, text in enumerate(lines, start=1):
            try:
                value = parse_json(text.decode())
                if number == 1:
                    before = from_json(Subject, value)
                else:
                    line = from_json(_Line, value)
                    self.lines[line.place] = line
            except (ValueError, RecursionError) as error:
                raise StorageError(
                    f"bad journal {str(self._path)!r}, line {number}: {error}; remove it to record "
                    "anew"
                ) from None
        _check_same(before, self.subject, self._path)
        self.subject = before

    def _write(self, entry: object) -> None:
        self._journal.append_line(dump_json(to_json(entry)))


def _check_same(before: Subject, now: Subject, path: Path) -> None:
    """Refuse to go on with what was begun as something else."""
    machines = fingerprint(before.machine), fingerprint(now.machine)
    for name, then, today in (
        ("program", before.version, now.version),
        ("machine", *machines),
        ("effort", before.conditions, now.conditions),
        ("space", before.space_hash, now.space_hash),
    ):
        if then != today:
            raise StorageError(
                f"bad landscape {str(path)!r}: it has the {name} {then}, expected {today}; choose "
                "another folder, or remove it to record anew"
            )
