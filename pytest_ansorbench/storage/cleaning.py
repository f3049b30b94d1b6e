"""Which files of a storage folder nobody needs any more."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_ansorbench.records import CaseResult, MachineState, Remeasurement, Result
from pytest_ansorbench.storage.entries import CaseEntry, FinalEntry
from pytest_ansorbench.storage.journal import FOLDER, Past
from pytest_ansorbench.storage.machine import PEAKS

_TEMPORARY: Final = re.compile(r"\.([0-9a-f]{32}\.tmp|\d{4,}\.reserved)")
"""Files of a write that is under way, and of a number that is being taken."""
UNFINISHED: Final = ".database-"
"""What the name of a folder begins with in which TVM writes a database."""
_UNDER_WAY_S: Final = 3600.0
_Run = tuple[str, int, Remeasurement | None, MachineState | None]
"""Its case and seed, and what was measured last, which no other run has by chance."""


@dataclass(frozen=True)
class Cleanable:
    """A journal, and whether it may go."""

    path: Path
    taken_over: tuple[str, ...] = ()  # names of the results that have all its runs
    reason: str = ""  # why it has to stay; empty if it need not


def cleanable(past: Past, results: Mapping[str, Result]) -> Cleanable:
    """Find out whether results have taken over what a journal holds, be it merged with more."""
    if not past.finished:
        return Cleanable(past.path, reason="its session can be resumed")
    runs = {*_finished(past)}
    taken = {name: runs.intersection(_runs(one.cases)) for name, one in results.items()}
    names = [name for name, own in taken.items() if own]
    if runs.difference(*taken.values()):
        reason = "no result has its runs" if not names else "no result has all its runs"
        return Cleanable(past.path, reason=reason)
    return Cleanable(past.path, taken_over=tuple(names))


def left_over(storage_dir: Path) -> Iterator[Path]:
    """What processes that were killed while they wrote have left in a storage folder.

    A file that is younger than an hour may be under way.
    """
    for folder in (storage_dir, storage_dir / FOLDER, storage_dir / PEAKS):
        for path in sorted(folder.glob(".*")):
            if _TEMPORARY.fullmatch(path.name) and _age_s(path) > _UNDER_WAY_S:
                yield path


def sweep(folder: Path) -> None:
    """Remove what killed processes have left in a folder that is locked, however young.

    Raises:
        OSError: It cannot be removed.
    """
    for path in [*folder.rglob(".*")]:
        if path.is_dir() and path.name.startswith(UNFINISHED):
            shutil.rmtree(path)
        elif _TEMPORARY.fullmatch(path.name):
            path.unlink()


def _age_s(path: Path) -> float:
    """Of a file; 0 for one that is gone."""
    with contextlib.suppress(OSError):
        return time.time() - path.lstat().st_mtime
    return 0.0


def _finished(past: Past) -> Iterable[_Run]:
    cases = {entry.label: entry.case for entry in past.of(CaseEntry)}
    # A journal that was changed may have a final without its case; no result has its runs.
    return (
        (cases.get(entry.label, entry.label), entry.seed, final, entry.after)
        for entry in past.of(FinalEntry)
        for final in entry.finals
    )


def _runs(cases: Sequence[CaseResult]) -> Iterable[_Run]:
    return ((run.case, run.seed, run.final, run.after) for case in cases for run in case.runs)
