"""Many figures of a page at a time: a thousand runs have hundreds, at 50 ms each.

matplotlib keeps one core busy. The others draw in processes of their own, started as `python -m
pytest_ansorbench.report.render.html.drawings`: what is on their standard input comes from this
module and nowhere else.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.report.render.html.drawing import svg
from pytest_ansorbench.report.sections import Bars, Chart, Forest

_WORTH_A_PROCESS: Final = 40
"""Figures that take as long as it takes to start one, and then some."""
_MOST_PROCESSES: Final = 8

Job = tuple[Chart | Forest | Bars, str]
"""A chart, and what begins the ids in its figure."""


def svgs(jobs: Sequence[Job]) -> list[str]:
    """Draw charts, on several cores if there are many.

    Args:
        jobs: The charts.

    Returns:
        An `svg` element of each, as `drawing.svg` makes it.

    Raises:
        ImportError: matplotlib is missing.
    """
    processes = min(os.cpu_count() or 1, _MOST_PROCESSES, 1 + len(jobs) // _WORTH_A_PROCESS)
    shares = [jobs[start::processes] for start in range(processes)]
    children = [_started(share) for share in shares[1:]]
    try:
        drawn = [_drawn(shares[0]), *map(_finished, children, shares[1:])]
    finally:
        for child in children:
            child.kill()
            child.wait()
            if child.stdout is not None:
                child.stdout.close()
    return [drawn[place % processes][place // processes] for place in range(len(jobs))]


def _drawn(jobs: Sequence[Job]) -> list[str]:
    return [svg(chart, prefix) for chart, prefix in jobs]


def _started(jobs: Sequence[Job]) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin is not None
    with contextlib.suppress(OSError):  # it is gone, which `_finished` finds out
        child.stdin.write(pickle.dumps([*jobs]))
        child.stdin.close()
    child.stdin = None
    return child


def _finished(child: subprocess.Popen[bytes], jobs: Sequence[Job]) -> list[str]:
    """What a process has drawn; drawn here if it could not."""
    out, _ = child.communicate()
    if child.returncode:
        return _drawn(jobs)
    figures: list[str] = json.loads(out)
    return figures


def main() -> None:
    """Draw what the parent asks for."""
    jobs: list[Job] = pickle.loads(sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(_drawn(jobs)))


if __name__ == "__main__":
    main()
