"""One result, one JSON file: written whole or not at all, and never trusted when read."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from pytest_ansorbench.codec import CodecError, from_json, to_json
from pytest_ansorbench.records import SCHEMA_VERSION, Result
from pytest_ansorbench.records.rebuilt_kernels import RebuiltKernels
from pytest_ansorbench.storage.checks import check_result
from pytest_ansorbench.storage.errors import MissingResultError, StorageError
from pytest_ansorbench.storage.strict_json import parse_json
from pytest_ansorbench.storage.upgrade import upgrade


def write_result(result: Result, path: Path) -> None:
    """Write a result, replacing the file as a whole once everything is on disk.

    Args:
        result: The result.
        path: The file; its folders are made if they are missing. A symbolic link stays one,
            and the file that it names is replaced.

    Raises:
        StorageError: The file cannot be written, or `path` is a folder or a device.
        CodecError: The result holds what is no JSON value.
    """
    target = _regular_target(path)
    with _temporary(target, _parts(result)) as written:
        try:
            os.replace(written, target)
        except OSError as error:
            _cannot_write(path, error)


def write_rebuilt(rebuilt: RebuiltKernels, path: Path) -> None:
    """Write kernels that were made again, as `write_result` writes a result.

    Raises:
        StorageError: The file cannot be written, or `path` is a folder or a device.
        CodecError: There is something that is no JSON value.
    """
    target = _regular_target(path)
    with _temporary(target, [_dump(to_json(rebuilt)), "\n"]) as written:
        try:
            os.replace(written, target)
        except OSError as error:
            _cannot_write(path, error)


def read_rebuilt(path: Path) -> RebuiltKernels:
    """Read what `write_rebuilt` wrote.

    Raises:
        StorageError: There is no such file, or it holds something else.
    """
    try:
        return from_json(RebuiltKernels, _load(path))
    except CodecError as error:
        raise StorageError(
            f"bad file {str(path)!r}: {error}; expected kernels that were made again"
        ) from error


def read_result(path: Path) -> Result:
    """Read a result, checking everything: a file from a stranger is data, never code.

    Args:
        path: A file that `write_result` wrote.

    Returns:
        The result.

    Raises:
        StorageError: There is no such file, it cannot be read, is not a result, is of another
            version, or holds values that do not fit.
    """
    with _collector_paused():
        data = _load(path)
        _check_version(path, data)
        try:
            upgrade(data)
            result = from_json(Result, data)
            check_result(result)
        except CodecError as error:
            raise StorageError(
                f"bad result file {str(path)!r}: {error}; it was changed by hand or by another "
                "tool: restore it, or measure again"
            ) from error
    return result


def _load(path: Path) -> Any:
    try:
        # Neither a folder nor a pipe, on which reading would wait forever.
        if not path.is_file():
            raise MissingResultError(f"bad result file {str(path)!r}: expected an existing file")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"bad result file {str(path)!r}: expected a readable file, got {error.strerror!r}; "
            "check its permissions"
        ) from error
    except UnicodeDecodeError as error:
        _not_json(path, error)
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        _not_json(path, error)


def _check_version(path: Path, data: Any) -> None:
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int or version < 1:
        raise StorageError(
            f"bad result file {str(path)!r}: expected a result of pytest-ansorbench, with a "
            f"schema_version from 1 to {SCHEMA_VERSION}; was it written by another tool?"
        )
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"bad result file {str(path)!r}: schema_version {version} is newer than "
            f"{SCHEMA_VERSION}, the newest this version reads; upgrade pytest-ansorbench"
        )


def _not_json(path: Path, error: Exception) -> NoReturn:
    raise StorageError(
        f"bad result file {str(path)!r}: expected JSON, got {error}; if it was cut short, e.g. by "
        "a full disk, restore it or measure again"
    ) from error


def _regular_target(path: Path) -> Path:
    """Where to write: replacing a link or a device would destroy it."""
    try:
        target = path.resolve()
        exists, regular = target.exists(), target.is_file()
    except (OSError, RuntimeError) as error:  # a loop of links, before Python 3.13
        _cannot_write(path, error)
    if (exists and not regular) or target.is_symlink():  # a link that is left is a loop
        raise StorageError(
            f"bad result file {str(path)!r}: expected a file, not a folder, device or loop of links"
        )
    return target


@contextlib.contextmanager
def _temporary(target: Path, parts: Iterable[str]) -> Iterator[Path]:
    """Text in a temporary file beside `target`, so that a rename cannot cross disks."""
    temporary = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Not `tempfile`: its files are for the owner's eyes alone, results are shared.
            with temporary.open("x", encoding="utf-8", newline="\n") as stream:
                for part in parts:
                    stream.write(part)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            _cannot_write(target, error)
        yield temporary
    finally:
        # After a rename there is nothing left; after a failure, a better error is under way.
        with contextlib.suppress(OSError):
            temporary.unlink()


def _parts(result: Result) -> Iterator[str]:
    """The file's text, one case a line: as JSON values, all cases at once would fill memory."""
    head = to_json(dataclasses.replace(result, cases=()))
    head.pop("cases")
    yield _dump(head).removesuffix("}") + ',"cases":['
    for index, case in enumerate(result.cases):
        with _collector_paused():
            yield (",\n" if index else "\n") + _dump(to_json(case))
    yield "\n]}\n"


def _dump(values: dict[str, Any]) -> str:
    return json.dumps(values, allow_nan=False, separators=(",", ":"))


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


def _cannot_write(path: Path, error: Exception) -> NoReturn:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    raise StorageError(
        f"bad result file {str(path)!r}: expected a place to write to, got {reason!r}; "
        "check the folder's permissions and the space on its disk"
    ) from error
