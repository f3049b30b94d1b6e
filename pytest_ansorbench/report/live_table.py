"""What runs and how far it is, arm by arm, on a terminal: drawn by rich, if that is installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from pytest_ansorbench.bench.progress import ProgressUpdate, RunProgress
from pytest_ansorbench.report.progress import best_so_far, time_left

if TYPE_CHECKING:
    from rich.console import RenderableType

_REFRESH_S: Final = 0.2
_BAR_WIDTH: Final = 24


class LiveTable:
    """Draws the arms of the repeat under way, a few times a second at most.

    A bar for the trials of each arm, its best so far; above them the case, the repeat, how many
    gates are settled and the time that is left. When a case is over all of it is wiped. `write`
    puts text on the terminal at once, unchanged; on colours, `NO_COLOR` has the last word.
    """

    def __init__(self, write: Callable[[str], None], *, coloured: bool) -> None:
        from rich.console import Console

        stream = cast(TextIO, _Stream(write))
        self._console = Console(file=stream, force_terminal=True, highlight=False)
        self._console.no_color = self._console.no_color or not coloured
        self._live: Any = None
        self._drawn_s = float("-inf")
        self._repeat: tuple[str, int] | None = None
        self._runs: dict[str, RunProgress] = {}

    def note(self, what: str) -> None:
        """Show what goes on; it may take long, so it is shown at once."""
        from rich.text import Text

        self._draw(Text(what, overflow="ellipsis", no_wrap=True))
        self._drawn_s = float("-inf")

    def update(self, update: ProgressUpdate) -> None:
        """Show how far things are, unless that was done a moment ago."""
        if self._repeat != (update.case, update.repeat):
            self._repeat, self._runs = (update.case, update.repeat), {}
        self._runs[update.run.strategy] = update.run
        if time.monotonic() - self._drawn_s >= _REFRESH_S:
            self._draw(self._table(update))
            self._drawn_s = time.monotonic()

    def clear(self) -> None:
        """Wipe everything."""
        if self._live is not None:
            self._live.stop()
        self._live, self._repeat, self._drawn_s = None, None, float("-inf")

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
        heading = f"{now.case}  repeat {now.repeat}/{now.repeats}"
        if gates:
            heading += f"  {settled}/{gates} gates settled"
        arms = Table.grid(padding=(0, 2))
        for name, run in self._runs.items():
            arms.add_row(
                Text(f"  {name}"),
                ProgressBar(run.budget_trials, run.trials, width=_BAR_WIDTH),
                Text(f"trial {run.trials}/{run.budget_trials}"),
                Text(f"best {best_so_far(run)}"),
                Text(f"task {run.task}" if run.task else "", overflow="ellipsis"),
            )
        return Group(Text(f"{heading}  {time_left(now)}", overflow="ellipsis", no_wrap=True), arms)


class _Stream:
    """A stream as rich writes to one."""

    encoding = "utf-8"

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """It is a terminal, or there would be no display."""
        return True
