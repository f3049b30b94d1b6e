"""When a search gives up a program that compiles for too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pytest_ansorbench.strategies.checks import require_at_least, require_positive


@dataclass(frozen=True)
class BuildLimit:
    """A program may compile for as long as some dozens of others.

    Most programs of a case compile in about the same time. A few unroll into bodies that keep LLVM
    busy for half a minute, and of these nearly all are slow. Given up early, such a program costs
    a search what a round costs, and not what all its rounds do. It counts as a trial that failed,
    with the status `build-timeout`.

    The engine has a limit as well (`--ansor-build-timeout`), the same for all strategies, which
    this one never exceeds.

    Attributes:
        times: Median compile time of the run's programs so far that one may take.
        least_s: Seconds that one may take however short the others were.
        first_s: Seconds that one may take while fewer than `after` programs were compiled.
        after: Programs whose median is known well enough.
    """

    times: float = 32.0
    least_s: float = 2.0
    first_s: float = 5.0
    after: int = 4

    def __post_init__(self) -> None:
        for name in ("times", "least_s", "first_s"):
            require_positive(self, name, example=getattr(type(self), name))
        require_at_least(self, "after", 1, example=4)

    def limit_s(self, build_s: Sequence[float]) -> float:
        """Seconds that the next programs may take.

        Args:
            build_s: What each program of the run so far took, given up or not.
        """
        if len(build_s) < self.after:
            return self.first_s
        return max(self.least_s, self.times * median(build_s))
