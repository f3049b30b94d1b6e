"""How finished programs are measured against each other: in short slices, in turn.

Slices that follow each other within milliseconds meet nearly the same machine, so their ratio is
far steadier than either latency. The same idea: duet benchmarking
(https://arxiv.org/abs/2001.05811), randomized interleaved trials
(https://doi.org/10.1145/3030207.3030229).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pytest_ansorbench.stats.paired_ratio import NeighbourRatios


@dataclass(frozen=True)
class Span:
    """A least and a most number, both at least 1."""

    least: int
    most: int

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(_EXPECTED)

    @classmethod
    def parse(cls, text: str) -> Span:
        """Read e.g. `20:60`, or `30` for `30:30`; a ValueError says what was expected."""
        parts = text.split(":")
        if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
            raise ValueError(_EXPECTED)
        return cls(int(parts[0]), int(parts[-1]))

    def __str__(self) -> str:
        return f"{self.least}:{self.most}"


_EXPECTED: Final = "expected a least and a most number, both from 1, e.g. 20:60, or one number"


@dataclass(frozen=True)
class SideBySide:
    """The effort of a measurement in turn, and when it ends.

    In each *turn* every program runs for one slice. A *set* of fresh processes takes turns until
    the ratio of each program to the first is known closely enough, then the next set begins.
    """

    slice_ms: float = 5.0
    """After one call that does not count; at least one call, whatever it takes."""
    rest_ms: float = 0.0
    """Before each slice."""
    precision: float = 0.005
    """Half the width of the interval of the logarithm of each ratio at which it is known closely
    enough; 0 for the most turns and sets."""
    turns: Span = Span(15, 60)
    """Of a set."""
    sets: Span = Span(4, 8)
    most_s: float | None = None
    """After which no further turn or set begins, once each program has a slice."""
    enough_s: float | None = None
    """After which the least turns and sets are enough, however wide the intervals."""

    @classmethod
    def of_samples(cls, samples: int) -> SideBySide:
        """Samples of 100 ms of each program, from one set, after rests of 0.3 s.

        So long TVM's threads busy-wait after a kernel: 300,000 turns, 0.15 s of CPU here.
        """
        return cls(100.0, 300.0, 0.0, Span(samples, samples), Span(1, 1))

    def order(self, turn: int, programs: int) -> Sequence[int]:
        """The order of programs in a turn: A B C, C B A, then B C A, A C B, and so on.

        A program's mean place is the same for all after every two turns, and each is first and
        last equally often after `2 * programs` turns. Turns are counted through all sets, from 0.
        """
        start = turn // 2 % programs
        order = [*range(start, programs), *range(start)]
        return order if turn % 2 == 0 else order[::-1]

    def conditions(self) -> dict[str, Any]:
        """The effort as JSON values."""
        return {**asdict(self), "turns": str(self.turns), "sets": str(self.sets)}

    def ends_set(self, turns: int, ratios: Sequence[NeighbourRatios], elapsed_s: float) -> bool:
        """Whether a set has taken turns enough, by the ratio of each program to the first."""
        if turns >= self.turns.most or (turns >= 1 and _is_past(self.most_s, elapsed_s)):
            return True
        if turns < self.turns.least or self.precision == 0.0:
            return False
        # What is left of a set's own error is divided by the root of the number of sets.
        enough = self.precision * math.sqrt(self.sets.least)
        is_known = all(ratio.last_half_width() <= enough for ratio in ratios)
        return is_known or _is_past(self.enough_s, elapsed_s)

    def ends(self, sets: int, ratios: Sequence[NeighbourRatios], elapsed_s: float) -> bool:
        if sets >= self.sets.most or _is_past(self.most_s, elapsed_s):
            return True
        if sets < self.sets.least or self.precision == 0.0:
            return False
        is_known = all(ratio.half_width() <= self.precision for ratio in ratios)
        return is_known or _is_past(self.enough_s, elapsed_s)


def _is_past(limit_s: float | None, elapsed_s: float) -> bool:
    return limit_s is not None and elapsed_s >= limit_s
