"""Sessions of pytest in processes of their own, forked off one that has imported what they need."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.forked import forked, kill, print_to

PRELOADED = ("pytest_ansorbench.plugin", "pytest_ansorbench.sessions", "tests.proposers")


class Apart:
    """A session that is under way."""

    def __init__(self, process: psutil.Process, out: int) -> None:
        self.pid = process.pid
        self._process = process
        self._out = out

    def kill(self) -> None:
        self._process.kill()

    def interrupt(self) -> str:
        """Press Ctrl-C; what it has printed when it has ended, its exit code at last."""
        self._process.send_signal(signal.SIGINT)
        with open(self._out, encoding="utf-8", closefd=False) as out:
            return out.read()


@contextmanager
def started(
    words: Sequence[str], folder: Path, ends: tuple[int, int], **variables: str
) -> Iterator[Apart]:
    """A session in a folder, which is killed if it has not ended by itself.

    Args:
        words: Of its command line.
        folder: Where it begins.
        ends: The end to read its output from, and the one that it writes to.
        variables: Its environment.
    """
    reads, writes = ends
    function = f"{__name__}:be_a_session"
    process = forked(
        function, *words, preloaded=PRELOADED, descriptors=[writes], cwd=folder, **variables
    )
    os.close(writes)
    try:
        yield Apart(process, reads)
    finally:
        kill(process)
        os.close(reads)


def be_a_session(*given: str | int) -> None:
    *words, out = given
    print_to(int(out))
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    tempfile.tempdir = None  # as the environment has it
    sys.path.insert(0, os.getcwd())
    # A suite that runs in the background hands down an ignored one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = pytest.main([*map(str, words)])
    print("exit code", int(code), flush=True)
