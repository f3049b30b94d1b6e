"""How users choose what S counts the time to: a ladder of targets, or one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

_EXPECTED: Final = (
    "expected way, way from a share of the reference's gain such as way:25% or, with 16 targets, "
    "way:25%:16; median, a share of the gain such as 90%, or GFLOP/s such as 200"
)


@dataclass(frozen=True, slots=True)
class Goal:
    """The targets of S.

    The reference's *gain* is its way from the median throughput of its first valid trials to the
    median of its final search throughput, less the tolerance.
    """

    # `way`: a ladder of targets along the gain, up to its end. `median`: the end alone. `gain`: a
    # share of the gain. `gflops`: a throughput
    kind: Literal["way", "median", "gain", "gflops"] = "way"
    # The share where the ladder begins for `way`, in (0, 1); the share for `gain`, in (0, 1];
    # GFLOP/s for `gflops`
    value: float = 0.1
    targets: int = 32  # how many targets the ladder has, about, at least 2; 1 for all others

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Parse `way`, `way:25%`, `way:25%:16`, `median`, a share such as `90%`, or GFLOP/s."""
        word, *ladder = (part.strip() for part in text.split(":"))
        if word == "way" and len(ladder) <= 2:
            return cls._way(*ladder)
        if ladder:
            raise ValueError(_EXPECTED)
        if word == "median":
            return MEDIAN
        value = _number(word.removesuffix("%"))
        if word.endswith("%") and 0.0 < value <= 100.0:
            return cls("gain", value / 100.0, 1)
        if not word.endswith("%") and 0.0 < value < math.inf:
            return cls("gflops", value, 1)
        raise ValueError(_EXPECTED)

    @classmethod
    def _way(cls, share: str = "10%", targets: str = "32") -> Goal:
        value = _number(share.removesuffix("%")) / 100.0 if share.endswith("%") else math.nan
        if not 0.0 < value < 1.0 or not targets.isdecimal() or not 2 <= int(targets) <= 1000:
            raise ValueError(_EXPECTED)
        return cls("way", value, int(targets))

    @property
    def target(self) -> Goal:
        """The one target that is reported beside the ladder: its end; any other goal itself."""
        return MEDIAN if self.kind == "way" else self

    def __str__(self) -> str:
        match self.kind:
            case "way":
                return f"way:{100.0 * self.value:.12g}%:{self.targets}"
            case "median":
                return "median"
            case "gain":
                return f"{100.0 * self.value:.12g}%"
            case "gflops":
                return repr(self.value)


MEDIAN: Final = Goal("median", 1.0, 1)


def _number(text: str) -> float:
    """NaN for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
