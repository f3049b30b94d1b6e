"""One result, one JSON file: written whole or not at all, and never trusted when read.

A name that ends in `.gz` is written compressed, and what is compressed is read by any name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import gzip
import io
import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypeVar

from pytest_ansorbench.codec import dump_json, from_json, parse_json, to_json
from pytest_ansorbench.records import (
    OLDEST_SCHEMA_VERSION,
    SCHEMA_VERSION,
    RecordError,
    Result,
)
from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernels

RESULT: Final = (".json", ".json.gz")
"""How files of results end."""
_COMPRESSED: Final = b"\x1f\x8b"
_MOST_BYTES: Final = 1 << 26
_MOST_TIMES: Final = 100
"""By how much results and journals shrink at most, ten times what they do; up to `_MOST_BYTES`,
anything goes.
"""
_BEGINS: Final = b'{"schema_version"'
"""How what `write_result` writes begins."""
_RESULT: Final = "result file"
_RecordT = TypeVar("_RecordT")
_Read = TypeVar("_Read")


class StorageError(Exception):
    """A result cannot be written or read; names the file and says what to do."""


class MissingResultError(StorageError):
    """There is no such result."""


class UnwritableError(StorageError):
    """A file or a folder cannot be written, as on a full disk."""


class CutShortError(StorageError):
    """A file that holds nothing to be read: it is empty, of NUL bytes, or ends too early.

    A kill, a power cut and a full disk leave such files.
    """


def nothing_in(content: bytes) -> str:
    """What stands in a file that holds nothing, in words; empty if there is more."""
    if not content:
        return "an empty file"
    return "" if content.strip(b"\0") else "NUL bytes alone"


def unpacked(content: bytes) -> bytes:
    """What a compressed file holds.

    Raises:
        OSError, EOFError, zlib.error: It is damaged, or holds more than could be told in its size.
    """
    most = max(_MOST_BYTES, _MOST_TIMES * len(content))
    parts: list[bytes] = []
    size = 0
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        while part := stream.read(1 << 20):
            parts.append(part)
            size += len(part)
            if size > most:
                raise OSError(f"more than {_MOST_TIMES} times what is compressed")
    return b"".join(parts)


def readable(
    paths: Iterable[Path], read: Callable[[Path], _Read], tell: Callable[[Path, StorageError], None]
) -> Iterator[tuple[Path, _Read]]:
    """Read files one after the other, past those that cannot be read: why is told of each."""
    for path in paths:
        try:
            record = read(path)
        except StorageError as error:
            tell(path, error)
        else:
            yield path, record


def newest(
    paths: Sequence[Path], read: Callable[[Path], _Read], tell: Callable[[Path, StorageError], None]
) -> tuple[Path, _Read]:
    """The last of some files, of one at least, that can be read.

    Raises:
        StorageError: None can be; it is about the first.
    """
    first, *later = paths
    found = next(readable(reversed(later), read, tell), None)
    return (first, read(first)) if found is None else found


def files_in(folder: Path, named: re.Pattern[str]) -> list[Path]:
    """The files of a storage folder with names of a kind; none if there is no folder."""
    try:
        return [path for path in folder.iterdir() if named.fullmatch(path.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(
            f"bad storage folder {str(folder)!r}: cannot be read, {error.strerror}"
        ) from error


def check_output(what: str, path: Path, read: Iterable[Path]) -> None:
    """Refuse to write over a file that is read, or where none can be written.

    Raises:
        UnwritableError: It names the file, and what it is.
    """
    there = [one for one in read if os.path.exists(one)]
    problem = ""
    if os.path.exists(path) and any(os.path.samefile(path, one) for one in there):
        problem = f"it is read; expected another file, e.g. new-{path.name}"
    elif os.path.isdir(path):
        problem = "expected a file, not a folder"
    else:
        place, fits = path, _in_place(path)
        if not fits:
            # Folders that are missing are made; a file that is there is replaced by one beside it.
            parents = Path(os.path.realpath(path)).parents
            place = next(one for one in parents if os.path.lexists(one))
            fits = os.path.isdir(place)
        if not (fits and os.access(place, os.W_OK)):
            problem = f"nothing can be written to {str(place)!r}"
    if problem:
        raise UnwritableError(f"bad {what} {str(path)!r}: {problem}")


def write_result(result: Result, path: Path) -> None:
    """Write a result, replacing the file as a whole once everything is on disk.

    Folders are made if they are missing. A symbolic link stays one, and the file that it names is
    replaced. A device or a pipe is written in place.
    """
    write_text(path, _parts(result))


def write_rebuilt(rebuilt: RebuiltKernels, path: Path) -> None:
    """Write kernels that were made again, as `write_result` writes a result."""
    write_text(path, [dump_json(to_json(rebuilt)), "\n"])


def read_rebuilt(path: Path) -> RebuiltKernels:
    """Read what `write_rebuilt` wrote."""
    return read_record(path, RebuiltKernels, load_json(path))


def read_result(path: Path) -> Result:
    """Read a result, checking everything: a file from a stranger is data, never code."""
    with _collector_paused():
        data = load_json(path)
        version = data.get("schema_version") if isinstance(data, dict) else None
        if type(version) is not int:
            raise StorageError(
                f"bad result file {str(path)!r}: expected a result of pytest-ansorbench, with a "
                "schema_version; was it written by another tool?"
            )
        if version not in range(OLDEST_SCHEMA_VERSION, SCHEMA_VERSION + 1):
            raise StorageError(
                f"bad result file {str(path)!r}: schema_version {version} is not "
                f"{OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}, which this version of "
                "pytest-ansorbench reads"
            )
        return read_record(path, Result, {**data, "schema_version": SCHEMA_VERSION})


@contextlib.contextmanager
def written_whole(target: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A file to write, which takes the target's place once all of it is on disk.

    Compressed, the same content gives the same bytes.
    """
    # Beside the target, since a rename cannot cross disks. Not `tempfile`: its files are for the
    # owner's eyes alone, results are shared.
    temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as stream:
            if target.suffix == ".gz":
                with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0, filename="") as packed:
                    yield packed
            else:
                yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    finally:
        # After a rename there is nothing left; after a failure, a better error is under way.
        with contextlib.suppress(OSError):
            temporary.unlink()


def written(path: Path) -> contextlib.AbstractContextManager[IO[bytes] | gzip.GzipFile]:
    """A file, or the one that a link names, to write as a whole; a device or pipe, in place."""
    if _in_place(path):
        return path.open("wb")
    return written_whole(Path(os.path.realpath(path)))


def _in_place(path: Path) -> bool:
    """Whether a path is opened as it is: open already, no file, or a loop of links."""
    if str(path).startswith(("/dev/std", "/dev/fd/", "/proc/")):
        return True
    return not os.path.isfile(path) and (
        os.path.exists(path) or os.path.islink(os.path.realpath(path))
    )


def read_record(path: Path, cls: type[_RecordT], data: Any, what: str = _RESULT) -> _RecordT:
    """A record from the JSON values of a file: StorageError, which names `what`, if it is none."""
    try:
        return from_json(cls, data)
    except RecordError as error:
        raise StorageError(
            f"bad {what} {str(path)!r}: {error}; it was changed by hand or by another "
            "tool: restore it, or measure again"
        ) from error


def load_json(path: Path, what: str = _RESULT) -> Any:
    """The JSON values of a file, compressed or not: StorageError if there are none."""
    try:
        # Neither a folder nor a pipe, on which reading would wait forever.
        if not path.is_file():
            raise MissingResultError(f"bad {what} {str(path)!r}: expected an existing file")
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(
            f"bad {what} {str(path)!r}: expected a readable file, got {error.strerror!r}; "
            "check its permissions"
        ) from error
    try:
        if content.startswith(_COMPRESSED):
            content = unpacked(content)
        if nothing := nothing_in(content):
            raise EOFError(nothing)
        return parse_json(content.decode("utf-8"))
    except (ValueError, RecursionError, OSError, EOFError, zlib.error) as error:
        is_ours = _BEGINS.startswith(content[: len(_BEGINS)])
        ends_early = is_ours and not content.rstrip().endswith(b"}")
        refused = CutShortError if ends_early or isinstance(error, EOFError) else StorageError
        raise refused(
            f"bad {what} {str(path)!r}: expected JSON, got {error}; if it was cut short, e.g. "
            "by a full disk, restore it or measure again"
        ) from error


def write_text(path: Path, parts: Iterable[str], what: str = _RESULT) -> None:
    """Write text as `write_result` writes a result."""
    try:
        with written(path) as stream:
            for part in parts:
                stream.write(part.encode("utf-8"))
    except OSError as error:
        cannot_write(what, path, error)


def _parts(result: Result) -> Iterator[str]:
    """The file's text, one case a line: as JSON values, all cases at once would fill memory."""
    head = to_json(dataclasses.replace(result, cases=()))
    head.pop("cases")
    yield dump_json(head).removesuffix("}") + ',"cases":['
    for index, case in enumerate(result.cases):
        with _collector_paused():
            yield (",\n" if index else "\n") + dump_json(to_json(case))
    yield "\n]}\n"


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause cyclic garbage collection.

    A result is millions of small objects without a cycle; searching them for one again and
    again takes as long as all the rest of reading.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def cannot_write(what: str, path: Path, error: Exception) -> NoReturn:
    """Raise an UnwritableError for what the system says of a file."""
    reason = getattr(error, "strerror", None) or str(error)
    raise UnwritableError(
        f"bad {what} {str(path)!r}: expected a place to write to, got {reason!r}; check "
        "the folder's permissions and the space on its disk, or choose another folder"
    ) from error
