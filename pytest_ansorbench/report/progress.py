"""What runs, how far it is, how long it will take: a live line, or a line a repeat in a log."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Final

from pytest_ansorbench.bench.progress import ProgressUpdate, RunProgress

_REFRESH_S: Final = 0.2


class LiveLine:
    """Rewrites one line in place, a few times a second at most.

    `write` puts text on the terminal at once, unchanged.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._drawn_s = float("-inf")
        self._length = 0

    def note(self, what: str) -> None:
        """Show what goes on; it may take long, so it is shown at once."""
        self._draw(what)
        self._drawn_s = float("-inf")

    def update(self, update: ProgressUpdate) -> None:
        """Show how far things are, unless that was done a moment ago."""
        if time.monotonic() - self._drawn_s >= _REFRESH_S:
            self._draw(line(update))

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
        self._write = write
        self._last: ProgressUpdate | None = None

    def note(self, what: str) -> None:
        """Leave out what goes on between trials."""

    def update(self, update: ProgressUpdate) -> None:
        """Write a line if this is the first trial of another repeat."""
        last = self._last
        if last is not None and (last.case, last.repeat) != (update.case, update.repeat):
            self._write(repeat_line(last))
        self._last = update

    def clear(self) -> None:
        """Write the line of the last repeat of the case, as far as it got."""
        if self._last is not None:
            self._write(repeat_line(self._last))
        self._last = None


def repeat_line(update: ProgressUpdate) -> str:
    """How far things are at the end of a repeat: case, repeat, gates, time so far and left."""
    settled, gates = update.settled
    return (
        f"{update.case}  repeat {update.repeat}/{update.repeats}  "
        + (f"{settled}/{gates} gates settled before  " if gates else "")
        + f"trial {update.trials_done}/{update.trials_total}  "
        f"{time_left(update)}"
    )


def line(update: ProgressUpdate) -> str:
    """How far things are, in one line: case, strategy, trials, best so far, time left."""
    run = update.run
    settled, gates = update.settled
    repeat = f"repeat {update.repeat}/{update.repeats}"
    if gates and settled < gates:
        repeat += f", {settled}/{gates} gates settled"
    task = f"  task {run.task}" if run.task else ""
    return (
        f"{update.case}  {run.strategy}  {repeat}  "
        f"trial {run.trials}/{run.budget_trials}{task}  "
        f"best {best_so_far(run)}  {_duration(update.remaining_s)} left"
    )


def best_so_far(run: RunProgress) -> str:
    """The best of a run, in words."""
    if run.estimated_s is not None:
        return f"{1e3 * run.estimated_s:.2f} ms by estimate"
    if run.task:
        return "unknown, some task has no valid trial"
    if not run.best_gflops:
        return "no valid trial"
    return f"{run.best_gflops:.1f} GFLOP/s"


def time_left(update: ProgressUpdate) -> str:
    """The time of the case so far, and that to its end."""
    return f"{_duration(update.elapsed_s)} so far, {_duration(update.remaining_s)} left"


def _duration(seconds: float) -> str:
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
