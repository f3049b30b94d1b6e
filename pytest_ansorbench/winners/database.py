"""Winners as a database of MetaSchedule's, for stock TVM to compile with."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.storage.cleaning import UNFINISHED
from pytest_ansorbench.winners.winner import Winner

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.target import Target

#: What `JSONDatabase(work_dir=...)` reads.
DATABASE_FILES: Final = ("database_workload.json", "database_tuning_record.json")


class DatabaseError(ValueError):
    """A folder that a database cannot be written to, or read from."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What a database was made of."""

    workloads: int  # different programs
    records: int  # schedules of them
    left_out: tuple[str, ...]  # of each winner or program that could not be taken, why


def export_database(
    winners: Iterable[tuple[Winner, Target]], folder: Path, *, top: int = 1
) -> Exported:
    """Write the fastest schedules of each program to a new database, equal ones once.

    Stock TVM takes it as `ms.database.JSONDatabase(work_dir=folder)`. Each winner comes with the
    target that it was tuned for.
    """
    if top < 1:
        raise ValueError(f"bad top {top}: expected at least 1")
    if there := [name for name in DATABASE_FILES if (folder / name).exists()]:
        raise DatabaseError(
            f"bad folder {str(folder)!r}: it has a {there[0]} already; expected a new folder"
        )
    try:
        return _written(winners, folder, top)
    except OSError as error:
        raise DatabaseError(
            f"bad folder {str(folder)!r}: it cannot be written, {error.strerror}; check its "
            "permissions and the space on its disk, or choose another"
        ) from error


def replace_database(winners: Iterable[tuple[Winner, Target]], folder: Path) -> Exported:
    """Write the fastest schedule of each program, in the place of a database that may be there.

    Killed at any moment, it leaves the old database, an empty one or the new one.

    Raises:
        OSError: The folder cannot be written.
    """
    return _written(winners, folder, top=1)


def database_of(winners: Iterable[tuple[Winner, Target]]) -> Database:
    """The fastest schedule of each program, as a database in memory."""
    from tvm.s_tir.meta_schedule.database import MemoryDatabase

    database = MemoryDatabase()
    _fill(database, winners, top=1)
    return database


def _written(winners: Iterable[tuple[Winner, Target]], folder: Path, top: int) -> Exported:
    from tvm.s_tir.meta_schedule.database import JSONDatabase

    workloads, records = (folder / name for name in DATABASE_FILES)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=folder) as unfinished:
        exported = _fill(JSONDatabase(work_dir=unfinished), winners, top)
        written = [(Path(unfinished) / path.name, path) for path in (workloads, records)]
        lines = (exported.workloads, exported.records)
        for (path, _), expected in zip(written, lines, strict=True):
            path.touch()  # TVM makes it with the first record
            # TVM does not look whether what it writes arrives.
            if path.read_bytes().count(b"\n") != expected:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        # A record names its program by its place: it must not meet another list of programs.
        records.unlink(missing_ok=True)
        for path, target in written:
            os.replace(path, target)
    return exported


@dataclass(frozen=True, eq=False)
class _Program:
    mod: IRModule
    tuned: list[tuple[Winner, Target]]


def _by_program(
    winners: Iterable[tuple[Winner, Target]],
) -> tuple[Iterable[_Program], list[str]]:
    """Winners of equal programs together: two networks may have a task in common.

    And of each program that this version of TVM cannot read, why.
    """
    from tvm_ffi import structural_hash

    mods: dict[str, IRModule | None] = {}
    programs: dict[int, _Program] = {}
    left_out = []
    for winner, target in winners:
        if winner.program not in mods:
            mods[winner.program] = None
            try:
                mods[winner.program] = winner.unscheduled()
            except PackedError as error:
                left_out.append(f"{winner.case}, {winner.task.name}: {error}")
        mod = mods[winner.program]
        if mod is not None:
            known = programs.setdefault(structural_hash(mod), _Program(mod, []))
            known.tuned.append((winner, target))
    return programs.values(), left_out


def _fill(database: Database, winners: Iterable[tuple[Winner, Target]], top: int) -> Exported:
    from tvm.s_tir.meta_schedule.database import TuningRecord

    workloads = 0
    programs, left_out = _by_program(winners)
    for program in programs:
        workload, schedules = None, set[str]()
        for winner, target in sorted(program.tuned, key=lambda one: one[0].latency_s):
            if len(schedules) == top or winner.schedule in schedules:
                continue
            try:
                candidate = winner.candidate()
            except PackedError as error:
                left_out.append(f"{winner.case}, {winner.task.name}: {error}")
                continue
            if len(candidate.schedule.trace.insts) == 0:
                left_out.append(
                    f"{winner.case}, {winner.task.name}: {winner.strategy} made its program "
                    "without a trace, which a database consists of"
                )
                continue
            if workload is None:
                workload = database.commit_workload(program.mod)
                workloads += 1
            schedules.add(winner.schedule)
            database.commit_tuning_record(
                TuningRecord(
                    candidate.schedule.trace,
                    workload,
                    [winner.latency_s],
                    target,
                    candidate.args_info,
                )
            )
    return Exported(workloads, len(database), tuple(left_out))
