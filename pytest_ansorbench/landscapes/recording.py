"""Measures a sub-space point by point; each is on disk before the next one.

Random points whose fastest is the centre of a sub-space are not kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.codec import dump_json, from_json, parse_json, to_json
from pytest_ansorbench.cores import pinned_to, threads_of
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
    digest,
)
from pytest_ansorbench.measure.policy import Stopwatch
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.untuned import task_check
from pytest_ansorbench.packed import pack_program
from pytest_ansorbench.records import TaskRecord
from pytest_ansorbench.storage import (
    Journal,
    StorageError,
    fingerprint,
    package_difference,
    read_peak,
)
from pytest_ansorbench.storage.numbered import stored_name
from pytest_ansorbench.strategies import ScheduledProgram
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Vector
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
        scouts: Random points of a sketch, the fastest of which is the centre of its sub-space.
        seed: Of the choice of points, and of the order in which they are measured.
        slices: Samples of each program.
        slice_ms: Milliseconds that each lasts, at least a call.
        build_limit_s: Seconds that a program may compile; one that takes longer has failed.
        license: SPDX identifier of what the file may be used under.
    """

    points: int = 3_000
    scouts: int = 64
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
    unit: str  # what is measured: a point, or a scout, of which the fastest is a centre
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
        tell: Is told after each point, and each scout.

    Raises:
        UnrecordableError: The case has several tasks, or no decisions, or the target is no CPU.
        StorageError: What is there is of another effort, case, license or machine, or is damaged.
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
    today: dict[str, Any] = {
        "program": case_version(case, [task]),
        "machine": fingerprint(engine.machine),
        "effort": effort.conditions(),
        "license": effort.license,
        "space": digest([*sketches]),
    }
    path = folder / f"{stored_name(case.id)}.json.gz"
    if path.exists():
        _check_same(read_landscape(path).subject, today, path)
        return path
    measuring = _Measuring(case.id, task, design, engine, effort, tell)
    journal, texts = Journal.opened(path.with_name(path.name.replace(".json.gz", ".jsonl")))
    with journal:
        subject, lines = _read(texts, journal.path)
        if subject is not None:
            _check_same(subject, today, journal.path)
            if changed := package_difference(subject.machine, engine.machine):
                raise StorageError(
                    f"bad landscape {str(journal.path)!r}: it was begun with other packages "
                    f"({changed}); choose another folder, or remove it to record anew"
                )
        else:
            rng = np.random.default_rng(effort.seed)
            spaces = chosen(design, effort.points, measuring.fastest, rng)
            cores = pinned_to(None, threads_of(engine.target))
            peak = read_peak(storage, today["machine"], "float32", cores)
            subject = Subject(
                license=effort.license,
                created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                case=case.id,
                version=today["program"],
                definition=recorded(case, root),
                task=TaskRecord(task.name, task.weight, task.flops, sketches),
                program=pack_program(task.mod),
                machine=engine.machine,
                peak=peak,
                registers=design.registers,
                conditions=today["effort"],
                sketches=tuple(map(SketchRecord.of, spaces)),
            )
            journal.append_line(dump_json(to_json(subject)))
        for line in measuring.lines(configurations(subject), "point", lines):
            journal.append_line(dump_json(to_json(line)))
            lines[line.place] = line
        built = [one for one in lines.values() if one.build_wall_s]
        wall_s = sum(one.build_wall_s for one in built)
        build_s = sum(one.result.times.compilation_time for one in built)
        results = tuple(lines[place].result for place in range(subject.size))
        at_once = build_s / wall_s if build_s and wall_s else 1.0
        write_landscape(Landscape.of(subject, results, at_once), path)
        journal.path.unlink()
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


@dataclass(frozen=True)
class _Measuring:
    """Measures points of one task's design space."""

    case: str
    task: Task
    design: TracedDesign
    engine: Engine
    effort: Effort
    tell: Callable[[Advance], None]

    def fastest(self, space: DecisionSpace) -> Vector:
        """Of some random points of a sketch; one of them if no program works."""
        rng = np.random.default_rng([self.effort.seed, 2, space.index])
        drawn = [tuple(vector) for vector in space.draw(self.effort.scouts, rng).tolist()]
        points = [Configuration(space.index, tuple(space.decisions_of(one))) for one in drawn]
        lines = self.lines(points, "scout", {})
        return drawn[min(lines, key=lambda line: line.result.latency_s).place]

    def lines(
        self, points: Sequence[Configuration], unit: str, there: Mapping[int, _Line]
    ) -> Iterator[_Line]:
        """Those that are not there, in an order that has nothing to do with decisions."""
        order = np.random.default_rng([self.effort.seed, 1]).permutation(len(points)).tolist()
        left = [place for place in order if place not in there]
        known = {line.result.program: line.result for line in there.values()}
        failed = sum(not line.result.correctness for line in there.values())
        first, started_s = len(points) - len(left), time.monotonic()
        for done, line in enumerate(self._measured(points, left, known), start=1):
            yield line
            failed += not line.result.correctness
            left_s = (time.monotonic() - started_s) / done * (len(left) - done)
            self.tell(Advance(self.case, unit, first + done, len(points), failed, left_s))

    def _measured(
        self,
        points: Sequence[Configuration],
        left: Sequence[int],
        known: dict[str, PointRecord],
    ) -> Iterator[_Line]:
        """Measure some places, but for programs that are known, which gets more of them."""
        for start in range(0, len(left), self.engine.capacity):
            places = left[start : start + self.engine.capacity]
            made = self.design.maker.map(
                lambda place: program_of(self.design, points[place]), places
            )
            fresh: dict[str, tuple[int, ScheduledProgram]] = {}
            twins: list[tuple[int, str]] = []
            for place, program in zip(places, made, strict=True):
                if program is None:
                    yield _Line(place, 0.0, PointRecord.no_program(points[place]))
                elif (name := program_hash(program)) in known or name in fresh:
                    twins.append((place, name))
                else:
                    fresh[name] = place, program
            for line in self._batch(points, fresh):
                known[line.result.program] = line.result
                yield line
            for place, name in twins:
                twin = replace(known[name], configuration=points[place])
                yield _Line(place, 0.0, twin)

    def _batch(
        self, points: Sequence[Configuration], fresh: dict[str, tuple[int, ScheduledProgram]]
    ) -> Iterator[_Line]:
        """Build some programs, then run them one after the other."""
        started_s = time.monotonic()
        candidates = [program.candidate() for _, program in fresh.values()]
        built = self.engine.build(
            [Program.kernel(one.mod, one.args_info, self.task.surroundings) for one in candidates],
            self.task.check,
            limit_s=self.effort.build_limit_s,
        )
        wall_s = (time.monotonic() - started_s) / max(1, len(built))
        done = 0
        try:
            for (name, (place, _)), program in zip(fresh.items(), built, strict=True):
                # Without a best one every output is checked.
                outcome = self.engine.run(program, self.effort)
                done += 1
                times = Times(outcome.build_s, outcome.run_s, outcome.latencies_s)
                result = PointRecord.measured(
                    points[place], name, outcome.status, times, outcome.error[:_MOST_ERROR]
                )
                yield _Line(place, wall_s, result)
        finally:
            for program in built[done:]:
                self.engine.discard(program)


def _read(texts: Sequence[bytes], path: Path) -> tuple[Subject | None, dict[int, _Line]]:
    """The subject in the first line of a journal, None without one; the rest by their places."""
    subject: Subject | None = None
    lines: dict[int, _Line] = {}
    for number, text in enumerate(texts, start=1):
        try:
            values = parse_json(text.decode())
            if number == 1:
                subject = from_json(Subject, values)
            else:
                line = from_json(_Line, values)
                lines[line.place] = line
        except (ValueError, RecursionError) as error:
            raise StorageError(
                f"bad journal {str(path)!r}, line {number}: {error}; remove it to record anew"
            ) from None
    return subject, lines


def _check_same(before: Subject, today: Mapping[str, Any], path: Path) -> None:
    """Refuse to go on with what was begun as something else."""
    begun = {
        "program": before.version,
        "machine": fingerprint(before.machine),
        "effort": before.conditions,
        "license": before.license,
        "space": digest([*before.task.sketches]),
    }
    for name, then in begun.items():
        if then != today[name]:
            raise StorageError(
                f"bad landscape {str(path)!r}: it has the {name} {then}, expected {today[name]}; "
                "choose another folder, or remove it to record anew"
            )
