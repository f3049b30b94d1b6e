"""What runs, how far it is, how long it will take: a live table, a line, or a log of repeats."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from pytest_ansorbench.bench.progress import ProgressUpdate, RunProgress
from pytest_ansorbench.report.render.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

_REFRESH_S: Final = 0.2
_BAR_WIDTH: Final = 24


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
        text = printable(text)[: shutil.get_terminal_size().columns - 1]
        self._write("\r" + text.ljust(self._length))
        self._drawn_s, self._length = time.monotonic(), len(text)


class RepeatLog:
    """Writes a line for each repeat before the next, where nothing can be rewritten, as in CI."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last: ProgressUpdate | None = None  # of the latest of the repeats under way

    def note(self, what: str) -> None:
        """Leave out what goes on between trials."""

    def update(self, update: ProgressUpdate) -> None:
        """Write a line if this is the first trial of another repeat."""
        last = self._last
        if last is not None and (last.case != update.case or last.repeat < update.repeat):
            self.clear()
        if self._last is None or self._last.repeat == update.repeat:
            self._last = update

    def clear(self) -> None:
        """Write the line of the last repeat of the case, as far as it got."""
        if self._last is not None:
            self._write(printable(repeat_line(self._last)))
        self._last = None


class TrialLog:
    """Writes a line for what goes on, and every so often how far things are.

    For one long search where nothing can be rewritten, as in a pipe.
    """

    def __init__(self, write: Callable[[str], None], *, every_s: float = 10.0) -> None:
        self._write = write
        self._every_s = every_s
        self._written_s = time.monotonic()
        self._last: ProgressUpdate | None = None  # that is not written yet

    def note(self, what: str) -> None:
        """Write it, after how far things are."""
        self.clear()
        self._write(printable(what))

    def update(self, update: ProgressUpdate) -> None:
        """Write a line, unless that was done a moment ago."""
        self._last = update
        if time.monotonic() - self._written_s >= self._every_s:
            self.clear()

    def clear(self) -> None:
        """Write how far things are, if that is not written yet."""
        if self._last is not None:
            self._write(printable(line(self._last)))
            self._last, self._written_s = None, time.monotonic()


class LiveTable:
    """Draws the arms of the repeats under way by rich, an extra, a few times a second at most.

    A bar for what each arm has spent of its budget, its best so far; above them the case, the
    repeat, how many gates are settled and the time that is left. When a case is over all of it is
    wiped. `write` puts text on the terminal at once, unchanged; on colours, `NO_COLOR` has the last
    word.
    """

    def __init__(self, write: Callable[[str], None], *, coloured: bool) -> None:
        from rich.console import Console

        stream = cast(TextIO, SimpleNamespace(write=write, flush=lambda: None))
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._console.no_color = self._console.no_color or not coloured
        self._live: Any = None
        self._drawn_s = float("-inf")
        self._case, self._repeat = "", 0  # the latest of its repeats under way
        self._runs: dict[tuple[int, str], RunProgress] = {}  # by repeat and strategy

    def note(self, what: str) -> None:
        """Show what goes on; it may take long, so it is shown at once."""
        from rich.text import Text

        self._draw(Text(what, overflow="ellipsis", no_wrap=True))
        self._drawn_s = float("-inf")

    def update(self, update: ProgressUpdate) -> None:
        """Show how far things are, unless that was done a moment ago."""
        if self._case != update.case or self._repeat < update.repeat:
            self._case, self._repeat, self._runs = update.case, update.repeat, {}
        self._runs[update.repeat, update.run.strategy] = update.run
        if time.monotonic() - self._drawn_s >= _REFRESH_S:
            self._draw(self._table(update))
            self._drawn_s = time.monotonic()

    def clear(self) -> None:
        """Wipe everything."""
        if self._live is not None:
            self._live.stop()
        self._live, self._case, self._drawn_s = None, "", float("-inf")

    def _draw(self, what: RenderableType) -> None:
        from rich.live import Live

        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                # pytest owns these.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(what, refresh=True)

    def _table(self, now: ProgressUpdate) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        settled, gates = now.settled
        heading = printable(now.case)
        if gates or now.repeats > 1:
            heading += f"  repeat {self._repeat}/{max(self._repeat, now.repeats)}"
        if gates:
            heading += f"  {settled}/{gates} gates settled"
        arms = Table.grid(padding=(0, 2))
        for (repeat, name), run in self._runs.items():
            arms.add_row(
                Text(f"  {name}" if repeat == self._repeat else f"  {name}, repeat {repeat}"),
                ProgressBar(1.0, run.spent, width=_BAR_WIDTH),
                Text(f"trial {run.trials}, {run.spent:.0%}"),
                Text(f"best {best_so_far(run)}"),
                Text(f"task {run.task}" if run.task else "", overflow="ellipsis"),
            )
        return Group(Text(f"{heading}  {time_left(now)}", overflow="ellipsis", no_wrap=True), arms)


def repeat_line(update: ProgressUpdate) -> str:
    """How far things are at the end of a repeat: case, repeat, gates, time so far and left."""
    settled, gates = update.settled
    return (
        f"{update.case}  repeat {update.repeat}/{update.repeats}  "
        + (f"{settled}/{gates} gates settled before  " if gates else "")
        + f"run {update.runs_done:.1f}/{update.runs_total:.4g}  "
        f"{time_left(update)}"
    )


def line(update: ProgressUpdate) -> str:
    """How far things are, in one line: case, strategy, budget, best so far, time left."""
    run = update.run
    settled, gates = update.settled
    repeat = f"repeat {update.repeat}/{update.repeats}"
    if gates and settled < gates:
        repeat += f", {settled}/{gates} gates settled"
    repeat = f"{repeat}  " if gates or update.repeats > 1 else ""
    task = f"  task {run.task}" if run.task else ""
    return (
        f"{update.case}  {run.strategy}  {repeat}"
        f"trial {run.trials}, {run.spent:.0%}{task}  "
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
