"""The stopwatch of a search: seconds per phase, and nothing but these phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, get_args

Phase = Literal["propose", "build", "run", "learn", "check"]
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)


class Clock:
    """Adds up monotonic time spent in phases; owned by one search.

    Time outside of phases (another arm's round, the replacement of worn-out workers, progress
    output) does not count.
    """

    def __init__(
        self, now: Callable[[], float] = time.perf_counter, *, elapsed_s: float = 0.0
    ) -> None:
        self._now = now
        self._elapsed_s = elapsed_s
        self._round_s: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)

    @property
    def elapsed_s(self) -> float:
        """Search time so far, in seconds."""
        return self._elapsed_s

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Count the time inside as this phase's."""
        started = self._now()
        try:
            yield
        finally:
            spent_s = self._now() - started
            self._round_s[name] += spent_s
            self._elapsed_s += spent_s

    def take_round(self) -> dict[Phase, float]:
        """Seconds per phase since the last call; `check` is in no round, but after the last."""
        taken, self._round_s = self._round_s, dict.fromkeys(PHASES, 0.0)
        return taken
