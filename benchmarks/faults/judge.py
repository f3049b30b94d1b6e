"""Reads files in children that may die of them, and tells what became of each.

A child is a fork of this process, which has imported all that readers need. It goes through many
files and says which it begins, so that whatever ends it is blamed on one. What a reader may do:
succeed, or print one sentence that names the file.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ledger import SURVIVED

MEMORY_MB: Final = 1024.0
"""What a reader may take beyond what the process had before."""
LIMIT_S: Final = 10.0
LONGEST: Final = 2000
"""Characters of a sentence."""
STARTS: Final = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
"""Events of processes that are started."""

Reader = Callable[[Path], str | None]
"""Reads a file as a command does: None if it can be read, or the sentence that is told."""


@dataclass(frozen=True)
class Told:
    """What became of a file.

    Attributes:
        verdict: "survived", or the name of a fault.
        told: What was printed.
        seconds: Of reading.
        mb: Memory that it took at most, beyond what there was before.
    """

    verdict: str
    told: str
    seconds: float
    mb: float


def judge(
    files: Sequence[tuple[Path, Reader]],
    *,
    planted: Sequence[Path] = (),
    starts: bool = False,
    limit_s: float = LIMIT_S,
    memory_mb: float = MEMORY_MB,
) -> Iterator[Told]:
    """What becomes of each of some files, in order.

    Args:
        files: Each with its reader.
        planted: Files that code makes which stands in what is read.
        starts: Whether readers may start processes.
        limit_s: Seconds for each.
        memory_mb: Memory for each.
    """
    at = 0
    while at < len(files):
        for told in _through(files[at:], planted, starts, limit_s, memory_mb):
            yield told
            at += 1


def _through(
    files: Sequence[tuple[Path, Reader]],
    planted: Sequence[Path],
    starts: bool,
    limit_s: float,
    memory_mb: float,
) -> Iterator[Told]:
    """What becomes of the first few, up to one that a child does not outlive."""
    reading, writing = os.pipe()
    output = os.memfd_create("told")
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            _child(files, planted, starts, writing, output, memory_mb)
        except BaseException:
            os.write(output, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        yield from _blamed(reading, output, child, len(files), limit_s)
    finally:
        os.close(reading)
        os.close(output)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _blamed(reading: int, output: int, child: int, files: int, limit_s: float) -> Iterator[Told]:
    received = b""
    began_s = time.monotonic()
    done = 0
    while done < files:
        left_s = began_s + limit_s - time.monotonic()
        ready = left_s > 0.0 and select.select([reading], [], [], left_s)[0]
        part = os.read(reading, 1 << 16) if ready else b""
        received += part
        *lines, received = received.split(b"\n")
        for line in lines:
            told = Told(**json.loads(line))
            yield told
            if told.verdict != SURVIVED:
                return
            done += 1
            began_s = time.monotonic()
        if part:
            continue
        if ready:
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status):
                died = signal.Signals(os.WTERMSIG(status)).name
            else:
                died = f"exit code {os.WEXITSTATUS(status)}"
        words = f"died of {died}" if ready else f"still there after {limit_s:g} s"
        verdict = "crash" if ready else "hang"
        seconds = time.monotonic() - began_s
        yield Told(verdict, f"{words}: {_text(output)}", seconds, 0.0)
        return


def _child(
    files: Sequence[tuple[Path, Reader]],
    planted: Sequence[Path],
    starts: bool,
    writing: int,
    output: int,
    memory_mb: float,
) -> None:
    os.setpgid(0, 0)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Address space, too, so that the machine outlives a reader that takes all of it.
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + int(3 * memory_mb * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = _Code(() if starts else STARTS)
    sys.addaudithook(code)
    gc.freeze()
    for file, read in files:
        os.ftruncate(output, 0)
        os.lseek(output, 0, os.SEEK_SET)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        before_mb = _peak_mb()
        began_s = time.monotonic()
        with code.watched():
            verdict, told = _read(file, read)
        seconds = time.monotonic() - began_s
        sys.stdout.flush()
        sys.stderr.flush()
        mb = _peak_mb() - before_mb
        if code.ran or any(mark.exists() for mark in planted):
            verdict, told = "code run", f"{code.ran or 'planted code'}: {told}"
            for mark in planted:
                mark.unlink(missing_ok=True)
        elif mb > memory_mb:
            verdict, told = "memory", f"{mb:.0f} MB: {told}"
        line = json.dumps(asdict(Told(verdict, told[:LONGEST], seconds, mb)))
        os.write(writing, line.encode() + b"\n")
        if verdict != SURVIVED:
            return  # whatever it has left behind
        gc.collect(0)


def commanded(words: Sequence[str]) -> tuple[int, str, str]:
    """A command line's exit code, what it showed, and what it said on standard error."""
    from pytest_ansorbench.cli import main

    shown, said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
        code = main(words)
        shown.flush()
    return code, shown.buffer.getvalue().decode(), said.getvalue()


def is_sentence(told: str, file: Path) -> bool:
    """Whether what was told is one line that names a file, or the model in it, for a terminal."""
    line = told.strip()
    names_it = file.name in line or repr(file.stem) in line  # which a network is called by
    return names_it and line.isprintable() and len(line) < LONGEST


def _read(file: Path, read: Reader) -> tuple[str, str]:
    try:
        told = read(file)
    except MemoryError:
        return "memory", traceback.format_exc(limit=-3)
    except BaseException:
        return "traceback", traceback.format_exc(limit=-4)
    if told is None:
        return SURVIVED, ""
    return SURVIVED if is_sentence(told, file) else "no sentence", told


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def _text(output: int) -> str:
    size = os.fstat(output).st_size
    return os.pread(output, size, 0).decode(errors="replace")[-LONGEST:]


def _names(code: Any) -> Iterator[str]:
    """What code asks for by name, that of functions in it included."""
    yield from getattr(code, "co_names", ())
    for constant in getattr(code, "co_consts", ()):
        yield from _names(constant)


def _is_imported() -> bool:
    """Whether a module is being imported, which may write code of its own as well."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


class _Code:
    """An audit hook that notes what data must not lead to."""

    FORBIDDEN: Final = (
        *("os.system", "os.exec", "pickle.find_class", "socket.connect", "socket.bind"),
        *("webbrowser.open", "urllib.Request"),
    )
    WRITERS: Final = (
        *("/dataclasses.py", "/collections/__init__.py", "/tvm_ffi/error.py", "/functools.py"),
        *("/typing.py", "/enum.py", "/jinja2/environment.py"),
    )
    """Modules that write code of their own, e.g. TVM's the lines of C++ in a traceback.

    So do many of PyTorch's, whose code may be anything but what is planted.
    """

    def __init__(self, forbidden: Sequence[str]) -> None:
        self.forbidden = (*self.FORBIDDEN, *forbidden)
        self.ran = ""
        self._watching = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        self.ran = ""
        self._watching = True
        try:
            yield
        finally:
            self._watching = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._watching:
            return
        if event in self.forbidden:
            self.ran = self.ran or f"{event} {arguments!r}"[:300]
        elif event == "ctypes.dlopen":
            library = str(arguments[0])
            if not any(library.startswith(folder) for folder in sys.path if folder):
                self.ran = self.ran or f"{event} {arguments!r}"[:300]
        elif event == "exec":
            name = getattr(arguments[0], "co_filename", "?")
            caller = sys._getframe(1).f_code.co_filename
            is_installed = _is_imported() and name.startswith(tuple(filter(None, sys.path)))
            is_planted = "__import__" in _names(arguments[0]) and not is_installed
            writes = caller.endswith(self.WRITERS) or "/site-packages/torch/" in caller
            if is_planted or not (writes or _is_imported()):
                self.ran = self.ran or f"exec of {name} by {caller}"
