"""What runs, how far it is, how long it will take: a live line, or a line a repeat in a log."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Final

from pytest_ansorbench.bench.progress import Standing
from pytest_ansorbench.report.cells import Decimals, Latency, Throughput
from pytest_ansorbench.report.render.numbers import cell_text

_REFRESH_S: Final = 0.2


class LiveLine:
    """Rewrites one line in place, a few times a second at most."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """Make a line.

        Args:
            write: Puts text on the terminal at once, unchanged.
        """
        self._write = write
        self._drawn_s = float("-inf")
        self._length = 0

    def note(self, what: str) -> None:
        """Show what goes on; it may take long, so it is shown at once."""
        self._draw(what)
        self._drawn_s = float("-inf")

    def update(self, standing: Standing) -> None:
        """Show where things stand, unless that was done a moment ago."""
        if time.monotonic() - self._drawn_s >= _REFRESH_S:
            self._draw(line(standing))

    def clear(self) -> None:
        """Wipe the line."""
        if self._length:
            self._write("\r" + " " * self._length + "\r")
        self._drawn_s, self._length = float("-inf"), 0

    def _draw(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        self._write("\r" + text.ljust(self._length))
        self._drawn_s, self._length = time.monotonic(), len(text)


class RepeatLog:
    """Writes a line for each repeat that is over, where nothing can be rewritten, as in CI."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """Make a log.

        Args:
            write: Writes a line.
        """
        self._write = write
        self._last: Standing | None = None

    def note(self, what: str) -> None:
        """Leave out what goes on between trials."""

    def update(self, standing: Standing) -> None:
        """Write a line if this is the first trial of another repeat."""
        last = self._last
        if last is not None and (last.case, last.repeat) != (standing.case, standing.repeat):
            self._write(repeat_line(last))
        self._last = standing

    def clear(self) -> None:
        """Write the line of the last repeat of the case, as far as it got."""
        if self._last is not None:
            self._write(repeat_line(self._last))
        self._last = None


def repeat_line(standing: Standing) -> str:
    """Where things stand at the end of a repeat: case, repeat, gates, time so far and left."""
    settled, gates = standing.settled
    return (
        f"{standing.case}  repeat {standing.repeat}/{standing.repeats}  "
        + (f"{settled}/{gates} gates settled before  " if gates else "")
        + f"trial {standing.trials_done}/{standing.trials_total}  "
        f"{time_left(standing)}"
    )


def line(standing: Standing) -> str:
    """Where things stand, in one line: case, strategy, trials, best so far, time left."""
    settled, gates = standing.settled
    repeat = f"repeat {standing.repeat}/{standing.repeats}"
    if gates and settled < gates:
        repeat += f", {settled}/{gates} gates settled"
    task = f"  task {standing.task}" if standing.task else ""
    return (
        f"{standing.case}  {standing.strategy}  {repeat}  "
        f"trial {standing.run_trials}/{standing.budget_trials}{task}  "
        f"best {best_so_far(standing)}  {_duration(standing.remaining_s)} left"
    )


def best_so_far(standing: Standing) -> str:
    """The best of the run under way, in words."""
    if standing.estimated_s is not None:
        return f"{cell_text(Latency(1e3 * standing.estimated_s, Decimals(2)))} ms by estimate"
    if standing.task:
        return "unknown, some task has no valid trial"
    if not standing.best_gflops:
        return "no valid trial"
    return f"{cell_text(Throughput(standing.best_gflops, Decimals(1)))} GFLOP/s"


def time_left(standing: Standing) -> str:
    """The time of the case so far, and that to its end."""
    return f"{_duration(standing.elapsed_s)} so far, {_duration(standing.remaining_s)} left"


def _duration(seconds: float) -> str:
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
