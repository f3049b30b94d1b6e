"""An append-only file of what a session has done, one JSON line an event, on disk at once.

A process can be killed between any two bytes that it writes. So a line counts when its newline
is there, the file is never rewritten, and the one thing a kill can leave behind, a last line cut
short, is recognized and dropped. Any other damage is somebody else's, and refused.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypeVar

from pytest_ansorbench.codec import parse_json
from pytest_ansorbench.storage.entries import (
    JOURNAL_VERSION,
    OLDEST_JOURNAL_VERSION,
    EndEntry,
    Entry,
    SessionEntry,
    from_line,
    to_line,
)
from pytest_ansorbench.storage.files import (
    CutShortError,
    StorageError,
    cannot_write,
    files_in,
    nothing_in,
    unpacked,
    written_whole,
)

try:
    import fcntl
except ImportError:  # Windows, where no search runs either
    fcntl = None  # type: ignore[assignment]

_Kind = TypeVar("_Kind")

FOLDER: Final = "journals"
_NAMED: Final = re.compile(r"(\d{4,})\.jsonl(\.gz)?")
_PLAIN: Final = ".jsonl"
_PACKED: Final = ".jsonl.gz"
_BEGINS: Final = b'{"kind":"session"'
"""How the first line begins."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a journal holds."""

    path: Path
    session: SessionEntry
    entries: tuple[Entry, ...]  # all lines after the session's
    size: int  # bytes of all complete lines
    dropped: int  # bytes of a last line that was cut short

    @property
    def finished(self) -> bool:
        """Whether its session came to an end."""
        return bool(self.entries) and isinstance(self.entries[-1], EndEntry)

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """The lines of one kind, in order."""
        found: list[Any] = [entry for entry in self.entries if isinstance(entry, kind)]
        return found


class Journal(AbstractContextManager["Journal"]):
    """A journal open for writing, by one process at a time."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream = stream
        self.path = path
        self.is_whole = True  # whether all that was to be written is
        try:
            # Why others are not kept from writing it; empty if they are.
            self.unlocked = _locked(stream.fileno(), f"journal {str(path)!r}")
        except StorageError:
            stream.close()
            raise
        if not path.exists():  # it was packed or unpacked meanwhile
            self._refuse_changed()

    @classmethod
    def create(cls, storage_dir: Path, session: SessionEntry) -> Journal:
        """Begin a journal under the next free number, e.g. `.ansor_bench/journals/0001.jsonl`."""
        folder = storage_dir / FOLDER
        try:
            folder.mkdir(parents=True, exist_ok=True)
            number = max((_number(path) for path in list_journals(storage_dir)), default=0)
            while True:
                number += 1
                path = folder / f"{number:04d}.jsonl"
                try:
                    stream = path.open("xb", buffering=0)
                    break
                except FileExistsError:
                    continue
        except OSError as error:
            cannot_write("journal", folder, error)
        journal = cls(stream, path)
        try:
            journal.append(session)
        except BaseException:
            journal.close()
            path.unlink(missing_ok=True)
            raise
        return journal

    @classmethod
    def reopen(cls, past: Past) -> Journal:
        """Go on with a journal that was read, after its last complete line.

        Raises:
            StorageError: Another session writes it, or has since it was read; or it cannot be
                written.
        """
        path = past.path
        try:
            if path.name.endswith(_PACKED):
                path = _unpacked(path)
            stream = path.open("r+b", buffering=0)
        except OSError as error:
            cannot_write("journal", path, error)
        journal = cls(stream, path)
        if os.fstat(stream.fileno()).st_size != past.size + past.dropped:
            journal._refuse_changed()
        stream.truncate(past.size)
        stream.seek(past.size)
        return journal

    @classmethod
    def opened(cls, path: Path) -> tuple[Journal, list[bytes]]:
        """A journal of lines of other kinds, begun or gone on with, and its complete lines."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = path.open("a+b", buffering=0)
        except OSError as error:
            cannot_write("journal", path, error)
        journal = cls(stream, path)
        stream.seek(0)
        *lines, cut_short = stream.read().split(b"\n")
        stream.seek(stream.truncate(stream.tell() - len(cut_short)))
        return journal, lines

    @classmethod
    def rewritten(cls, past: Past, session: SessionEntry, entries: Iterable[Entry]) -> Past:
        """Have other lines take the place of a journal in its folder, under the next number.

        The new one is there whole before the old one goes: killed at any moment, the newest
        journal has all that either has.

        Raises:
            StorageError: Another session is writing the old one, or the folder cannot be written.
        """
        with cls.reopen(past) as old:
            folder = old.path.parent
            number = 1 + max(map(_number, list_journals(folder.parent)))
            path = folder / f"{number:04d}{_PLAIN}"
            try:
                with written_whole(path) as stream:
                    for entry in (session, *entries):
                        stream.write(f"{to_line(entry)}\n".encode())
                old.path.unlink()
            except OSError as error:
                cannot_write("journal", path, error)
        return read_journal(path)

    def append(self, entry: Entry) -> None:
        """Write a line, and see it on disk before anything else happens.

        One that does not fit is taken back whole, so that others can follow.
        """
        self.append_line(to_line(entry))

    def append_line(self, line: str) -> None:
        """The same of a line of another kind."""
        end = self._stream.tell()
        left = memoryview(f"{line}\n".encode())
        try:
            while left:
                left = left[self._stream.write(left) :]
            os.fsync(self._stream.fileno())
        except BaseException as error:  # also a time limit that a signal keeps
            with contextlib.suppress(OSError):
                self._stream.truncate(end)
                self._stream.seek(end)
            if not isinstance(error, OSError):
                raise
            self.is_whole = False
            cannot_write("journal", self.path, error)

    def close(self) -> None:
        self._stream.close()

    def pack(self) -> None:
        """Compress and close it: its session is over. `reopen` takes that back."""
        packed = self.path.with_suffix(_PACKED)
        with self:
            try:
                with self.path.open("rb") as plain, written_whole(packed) as lines:
                    shutil.copyfileobj(plain, lines)
                self.path.unlink()
            except OSError as error:
                cannot_write("journal", packed, error)
        self.path = packed

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _refuse_changed(self) -> NoReturn:
        self.close()
        raise StorageError(
            f"bad journal {str(self.path)!r}: another session has written it since it was read; "
            "give the same command again"
        )


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other sessions out of a folder, which is made; empty at the end, it goes again.

    Raises:
        StorageError: Another session is in it.
        OSError: It cannot be made or opened.
    """
    is_new = False
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
        is_new = True
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _locked(descriptor, f"folder {str(folder)!r}")
        yield
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # there is something in it
                folder.rmdir()
        os.close(descriptor)


def _locked(descriptor: int, what: str) -> str:
    """Have a file or folder for this session alone; why that cannot be, empty if it is so.

    Raises:
        StorageError: Another session has it.
    """
    if fcntl is None:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StorageError(f"bad {what}: another session is writing it; wait for its end") from None
    except OSError as error:  # as some file systems of networks and containers have it
        return error.strerror or str(error)
    return ""


def is_being_written(path: Path) -> bool:
    """Whether a session has a journal, as far as its file system has locks."""
    try:
        if path.is_file():  # to open a pipe would wait forever
            with path.open("rb") as stream:
                _locked(stream.fileno(), f"journal {str(path)!r}")
    except StorageError:
        return True
    except OSError:
        return False
    return False


def list_journals(storage_dir: Path) -> tuple[Path, ...]:
    """The journals in a storage folder, in order of their numbers; none if there is no folder."""
    files = files_in(storage_dir / FOLDER, _NAMED)
    # Killed while it is compressed, a journal is there twice; as it was, it is surely whole.
    found = {journal_name(path): path for path in sorted(files, reverse=True)}
    return tuple(sorted(found.values(), key=_number))


def journal_name(path: Path) -> str:
    """What a journal is called, e.g. `0001`."""
    return path.name.removesuffix(_PACKED).removesuffix(_PLAIN)


def find_journal(storage_dir: Path, wanted: str, named: str = "journal") -> Path:
    """The journal of a number, or of a path.

    Args:
        storage_dir: Folder of stored results and journals.
        wanted: The number, e.g. `7` or `0007`, or the path.
        named: What an error calls it.

    Raises:
        StorageError: It is neither, or the folder cannot be read.
    """
    journals = {journal_name(path): path for path in list_journals(storage_dir)}
    for name, path in journals.items():
        if wanted.lstrip("0") == name.lstrip("0"):
            return path
    if not is_journal(Path(wanted)) and not Path(wanted).is_file():
        known = ", ".join([*journals][-3:]) or "none"
        raise StorageError(
            f"bad {named} {wanted!r}: expected the number or path of a journal; in "
            f"{str(storage_dir)!r} there are {known}"
        )
    return Path(wanted)


def is_journal(path: Path) -> bool:
    """Whether a file is a journal by its name, compressed or not."""
    return path.name.endswith((_PLAIN, _PACKED))


def read_journal(path: Path) -> Past:
    """Read a journal, checking everything: a file from a stranger is data, never code.

    A last line without its newline was cut short by a kill and is dropped. A journal that is over
    is found by the name that it had, too, e.g. `0001.jsonl` for `0001.jsonl.gz`.
    """
    path, content = _content(path)
    _check_begin(path, content)
    complete, newline, rest = content.rpartition(b"\n")
    session, *entries = _entries(path, complete + newline)
    assert isinstance(session, SessionEntry)
    return Past(path, session, tuple(entries), len(complete) + len(newline), len(rest))


class JournalTail:
    """Reads a journal that another process is writing: each line once, when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_bytes = 0
        self._lines = 0

    def read(self) -> list[Entry]:
        """The lines since the last time."""
        self.path, content = _content(self.path, self._read_bytes)
        complete, newline, _ = content.rpartition(b"\n")
        if not self._lines:
            _check_begin(self.path, content)
        entries = list(_entries(self.path, complete + newline, self._lines + 1))
        self._read_bytes += len(complete) + len(newline)
        self._lines += len(entries)
        return entries


def _content(path: Path, start: int = 0) -> tuple[Path, bytes]:
    """A journal's file, and what it holds from a byte on."""
    if path.suffix == _PLAIN and not path.exists():
        packed = path.with_suffix(_PACKED)
        path = packed if packed.exists() else path
    try:
        if not path.is_file():
            raise StorageError(
                f"bad journal {str(path)!r}: expected an existing file, e.g. "
                f".ansor_bench/{FOLDER}/0001.jsonl"
            )
        if path.name.endswith(_PACKED):
            return path, unpacked(path.read_bytes())[start:]
        with path.open("rb") as stream:
            stream.seek(start)
            return path, stream.read()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(
            f"bad journal {str(path)!r}: expected a readable file, got {reason!r}"
        ) from error


def _check_begin(path: Path, content: bytes) -> None:
    """Refuse what holds nothing, is not ours, or is of a version that another one reads."""
    first, newline, _ = content.partition(b"\n")
    nothing = nothing_in(content)
    if not newline and _BEGINS.startswith(first[: len(_BEGINS)]):
        nothing = nothing or "one that was cut short"
    if nothing:
        raise CutShortError(
            f"bad journal {str(path)!r}, line 1: expected a journal's first line, got {nothing}; "
            "a kill or a power cut leaves it so, with nothing to go on with"
        )
    try:
        session = parse_json(first.decode("utf-8"))
    except (ValueError, RecursionError):
        session = None
    if not (newline and isinstance(session, dict) and session.get("kind") == "session"):
        raise StorageError(
            f"bad journal {str(path)!r}, line 1: expected a journal's first line, of kind "
            "'session'; was it written by another tool?"
        )
    version = session.get("journal_version")
    if type(version) is int and version not in range(OLDEST_JOURNAL_VERSION, JOURNAL_VERSION + 1):
        raise StorageError(
            f"bad journal {str(path)!r}, line 1: journal_version {version} is not "
            f"{OLDEST_JOURNAL_VERSION} to {JOURNAL_VERSION}, which this version of "
            "pytest-ansorbench reads; the one that wrote it goes on with it"
        )


def _unpacked(packed: Path) -> Path:
    """A compressed journal as it was, so that lines can be added to it."""
    path = packed.with_name(journal_name(packed) + _PLAIN)
    with Journal(packed.open("rb", buffering=0), packed):  # so that nobody else does
        with gzip.open(packed) as lines, written_whole(path) as stream:
            shutil.copyfileobj(lines, stream)
        packed.unlink()
    return path


def _entries(path: Path, content: bytes, first: int = 1) -> Iterator[Entry]:
    for number, line in enumerate(content.split(b"\n")[:-1], start=first):
        try:
            yield from_line(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            _damaged(path, number, f"expected JSON, got {error}")
        except ValueError as error:
            _damaged(path, number, str(error))


def _number(path: Path) -> int:
    return int(journal_name(path))


def _damaged(path: Path, line: int, what: str) -> NoReturn:
    raise StorageError(
        f"bad journal {str(path)!r}, line {line}: {what}; it was not cut short but changed: "
        "restore it, or measure again"
    )
