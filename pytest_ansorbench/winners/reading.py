"""A database of MetaSchedule's, read without trusting it.

TVM's parser takes a blank line, or any other that is no record, to the end of the process. So lines
are checked first, what a kill has left of the last one is dropped, and the parser gets a copy of
the others in a process of its own.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.measure.local.channel import ChannelClosed
from pytest_ansorbench.measure.local.interpreter import Interpreter
from pytest_ansorbench.packed import unpack_program
from pytest_ansorbench.records.checks import are_latencies
from pytest_ansorbench.winners.database import DATABASE_FILES, DatabaseError

if TYPE_CHECKING:
    from tvm import IRModule


@dataclass(frozen=True, eq=False)
class Tuned:
    """A tuning record."""

    mod: IRModule
    schedule: str  # packed
    latencies_s: tuple[float, ...]
    target: str

    @property
    def is_valid(self) -> bool:
        return bool(self.latencies_s) and are_latencies(self.latencies_s)


@dataclass(frozen=True, slots=True)
class SoundLines:
    """The lines of a database's files, without blank ones."""

    workloads: tuple[bytes, ...]
    records: tuple[bytes, ...]
    dropped: tuple[str, ...]  # last lines that were cut short, by file and number


def read_database(folder: Path) -> tuple[list[Tuned], tuple[str, ...]]:
    """The records of a database, and what was dropped of its files.

    Raises:
        DatabaseError: It is none, or is damaged.
    """
    lines = sound_lines(folder)
    try:
        with tempfile.TemporaryDirectory(prefix="ansor-database-") as copy:
            for name, some in zip(DATABASE_FILES, (lines.workloads, lines.records), strict=True):
                (Path(copy) / name).write_bytes(b"".join(line + b"\n" for line in some))
            content = parsed(folder, Path(copy))
    except OSError as error:
        raise DatabaseError(f"bad folder {str(folder)!r}: cannot copy it, {error}") from None
    programs = [*map(unpack_program, content["programs"])]
    records = [
        Tuned(programs[one["program"]], one["schedule"], tuple(one["latencies_s"]), one["target"])
        for one in content["records"]
    ]
    return records, lines.dropped


def sound_lines(folder: Path) -> SoundLines:
    """Check the lines of a database.

    Raises:
        DatabaseError: A file is missing, or a line that is not the last is no line of it.
    """
    dropped: list[str] = []
    workloads_file, records_file = (folder / name for name in DATABASE_FILES)
    workloads = _lines(folder, workloads_file, _is_workload, dropped)
    records = _lines(folder, records_file, lambda line: _is_record(line, len(workloads)), dropped)
    return SoundLines(tuple(workloads), tuple(records), tuple(dropped))


def parsed(folder: Path, copy: Path) -> dict[str, Any]:
    """What TVM makes of a copy of a database, in a process of its own.

    Raises:
        DatabaseError: It cannot read it, or dies of it; named as that of the folder.
    """
    process = Interpreter(None, "pytest_ansorbench.winners.reader_main", [str(copy)])
    try:
        content, _ = process.channel.receive()
        reason = content.get("error")
    except ChannelClosed:
        cause, words = process.died_of()
        reason = f"{cause}{words}"
    finally:
        process.close()
    if reason is not None:
        raise DatabaseError(
            f"bad folder {str(folder)!r}: this version of TVM cannot read it: {reason}"
        )
    return content


def _lines(
    folder: Path, path: Path, is_good: Callable[[Any], bool], dropped: list[str]
) -> Sequence[bytes]:
    """The lines of one of its files, blank ones left out; each is checked."""
    try:
        if not path.is_file():
            raise DatabaseError(
                f"bad folder {str(folder)!r}: it has no {path.name}; expected the work_dir of a "
                "JSONDatabase"
            )
        content = path.read_bytes()
    except OSError as error:
        raise DatabaseError(
            f"bad folder {str(folder)!r}: cannot read {path.name}, {error.strerror}"
        ) from None
    numbered = [
        (number, line.strip())
        for number, line in enumerate(content.split(b"\n"), start=1)
        if line.strip(b" \t\r\0")
    ]
    for at, (number, line) in enumerate(numbered, start=1):
        try:
            values = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            if at == len(numbered):
                dropped.append(f"{path.name}: its last line, {number}, which was cut short")
                return [line for _, line in numbered[:-1]]
            values = None
        if not is_good(values):
            raise DatabaseError(
                f"bad folder {str(folder)!r}: line {number} of {path.name} is no "
                f"{'workload' if path.name == DATABASE_FILES[0] else 'tuning record'}; it was "
                "changed: restore it, or leave the line out"
            )
    return [line for _, line in numbered]


def _is_workload(line: Any) -> bool:
    """Whether a line is a hash and a program."""
    return isinstance(line, list) and [*map(type, line)] == [str, str]


def _is_record(line: Any, workloads: int) -> bool:
    """Whether a line is the place of a workload and a trace, latencies, target and arguments."""
    if not isinstance(line, list) or [*map(type, line)] != [int, list]:
        return False
    place, record = line
    if place not in range(workloads) or len(record) != 4:
        return False
    trace, latencies, _, arguments = record
    is_trace = isinstance(trace, list) and [*map(type, trace)] == [list, list]
    return is_trace and all(isinstance(one, list | None) for one in (latencies, arguments))
