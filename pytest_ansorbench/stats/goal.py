"""Which targets a ratio of search times is counted to: a part of the reference's gain, or one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_EXPECTED: Final = (
    "expected way, or way:80% to begin at that share of the reference's gain; a single target as "
    "a share of the gain such as 90%, or as GFLOP/s such as 200"
)


@dataclass(frozen=True, slots=True)
class Goal:
    """A ladder of targets over a part of the reference's gain, or a single target.

    The *gain* is the reference's way from the median throughput of its first valid trials to the
    median of its final search throughput, less the tolerance. `docs/research/verdicts.md` has why S
    begins at 60% of it.
    """

    low: float = 0.6  # share of the gain where the targets begin, in (0, 1]
    high: float = 1.0  # share where they end; the same for a single target
    gflops: float | None = None  # the single target, if it is not a share

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Parse `way`, `way:80%`, a single share such as `90%`, or GFLOP/s."""
        word, colon, rest = (part.strip() for part in text.partition(":"))
        if word == "way" and not colon:
            return cls()
        if word == "way" and 0.0 < (share := parse_share(rest)) < 1.0:
            return cls(share)
        if not colon and 0.0 < (share := parse_share(word)) <= 1.0:
            return cls(share, share)
        if not colon and 0.0 < (gflops := _number(word)) < math.inf:
            return cls(1.0, 1.0, gflops)
        raise ValueError(_EXPECTED)

    @property
    def single(self) -> bool:
        return self.low == self.high

    def __str__(self) -> str:
        if self.gflops is not None:
            return repr(self.gflops)
        return f"{'' if self.single else 'way:'}{100.0 * self.low:.12g}%"


EARLY: Final = Goal(0.1, 0.6)  # what comes before S: the way to a first good kernel


def parse_share(text: str) -> float:
    """The fraction that a percentage such as `90%` is; NaN for what is none."""
    return _number(text[:-1]) / 100.0 if text.endswith("%") else math.nan


def _number(text: str) -> float:
    """NaN for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
