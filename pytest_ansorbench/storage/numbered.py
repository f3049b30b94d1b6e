"""Results that accumulate in a folder, numbered as pytest-benchmark numbers its own."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pytest_ansorbench.records import Result
from pytest_ansorbench.storage.files import (
    RESULT,
    MissingResultError,
    StorageError,
    cannot_write,
    files_in,
    newest,
    read_result,
    write_result,
)

_NUMBERED: Final = re.compile(r"(\d{4,})_.+\.json(\.gz)?")
_NEWEST: Final = "newest"

# With four bytes a character, a number, a hash and an ending, still below 255, the limit of a
# file's name.
_LONGEST_NAME: Final = 56


def save_numbered(result: Result, storage_dir: Path, name: str) -> Path:
    """Save a result under the next free number, e.g. `.ansor_bench/0001_main.json`.

    Processes that save at the same time get different numbers.
    """
    check_name(name)
    slug = stored_name(name)
    try:
        storage_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cannot_write("storage folder", storage_dir, error)
    number = 0
    while True:
        number = max(number, _last_number(storage_dir)) + 1
        path = _create_under(number, result, storage_dir, slug)
        if path is not None:
            return path


def list_saved(storage_dir: Path) -> tuple[Path, ...]:
    """The numbered results in a folder, in order of their numbers; none if there is no folder."""
    files = files_in(storage_dir, _NUMBERED)
    return tuple(sorted(files, key=lambda path: (_number(path), path.name)))


def read_saved(
    storage_dir: Path, wanted: str, tell: Callable[[Path, StorageError], None]
) -> tuple[Path, Result]:
    """Read the newest of the results that `find_saved` finds, past those that cannot be read."""
    return newest(find_saved(storage_dir, wanted), read_result, tell)


def find_saved(storage_dir: Path, wanted: str) -> tuple[Path, ...]:
    """Find results by `newest`, their name, a number such as `3` or `0003`, or the path of a file.

    A name is that which a result was saved under, or what its file is called. They come in order
    of their numbers, one at least; for `newest` all do.
    """
    saved = list_saved(storage_dir)
    if wanted == _NEWEST and saved:
        return saved
    name = stored_name(wanted)
    for found in (
        [path for path in saved if _name(path) == name],
        [path for path in saved if wanted in (_name(path), result_name(path))],
        [path for path in saved if str(_number(path)) == wanted.lstrip("0")],
    ):
        if found:
            return tuple(found)
    if os.path.isfile(wanted) or wanted.endswith(RESULT):
        return (Path(wanted),)  # reading it will say what is wrong with it
    expected = f"bad result {wanted!r}: expected a name, a number or a file"
    if not saved:
        raise MissingResultError(f"{expected}, but {str(storage_dir)!r} has none")
    some = ", ".join(map(result_name, saved[-3:]))
    raise StorageError(f"{expected}, e.g. one of {some} in {str(storage_dir)!r}")


def result_name(path: Path) -> str:
    """What a saved result is called, e.g. `0001_main`."""
    return path.name.removesuffix(".gz").removesuffix(".json")


def check_name(name: str) -> None:
    """Refuse a name that a result would not be found by: StorageError says what is expected."""
    if name.strip() in ("", _NEWEST):
        raise StorageError(
            f"bad name {name!r}: expected some words other than {_NEWEST!r}, e.g. 'main'"
        )


def stored_name(name: str) -> str:
    """What the file of a name is called after its number, e.g. `main`.

    It has letters, digits, `_`, `.` and `-`. What is more than that, such as `feature/x`, ends in a
    hash, as `feature-x~` and eight digits: no other name gets the same.
    """
    name = unicodedata.normalize("NFC", name.strip())
    slug = re.sub(r"[^\w.-]+", "-", name)[:_LONGEST_NAME].strip("-._")
    if slug == name:
        return slug
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug}~{digest[:8]}"


def _create_under(number: int, result: Result, storage_dir: Path, slug: str) -> Path | None:
    """Create the file of this number; None if another process has the number.

    Files differ by more than the number, so creating one exclusively would not claim it. An
    exclusively created reservation does, provided that there is no file of that number once it
    is held. A process that died leaves its reservation behind: that number is skipped from then
    on, and nothing else is lost.
    """
    reservation = storage_dir / f".{number:04d}.reserved"
    try:
        reservation.touch(exist_ok=False)
    except FileExistsError:
        return None
    except OSError as error:
        cannot_write("storage folder", storage_dir, error)
    try:
        if _last_number(storage_dir) >= number:
            return None
        path = storage_dir / f"{number:04d}_{slug}.json"
        write_result(result, path)
        return path
    finally:
        reservation.unlink(missing_ok=True)


def _last_number(storage_dir: Path) -> int:
    saved = list_saved(storage_dir)
    return _number(saved[-1]) if saved else 0


def _number(path: Path) -> int:
    return int(path.name.partition("_")[0])


def _name(path: Path) -> str:
    """What stands behind the number; some file systems take letters and their accents apart."""
    return unicodedata.normalize("NFC", result_name(path).partition("_")[2])
