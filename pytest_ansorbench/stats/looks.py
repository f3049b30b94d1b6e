"""Repeats that stop by themselves: after how many of them gates are judged.

Standard library only: the options read repeats with it before anything is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LEAST: Final = 3
MOST: Final = 12
EXPECTED_REPEATS: Final = (
    "expected a number of repeats such as 5; 5+10 for 5, and up to 10 more while a gate may break; "
    "or auto, auto:12 or 3:12 for as many as gates need, at least and at most"
)


@dataclass(frozen=True, slots=True)
class Looks:
    """Gates are judged after each repeat from `least` to `most`, while that is called for."""

    least: int = LEAST  # repeats before the first look, at least 1
    most: int = MOST  # repeats after which there are no more
    # Whether only gates that more repeats may well break ask for them, the suspects; else all that
    # they may well settle
    if_suspect: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(f"bad looks {str(self)!r}: {EXPECTED_REPEATS}")

    @classmethod
    def parse(cls, text: str) -> Looks:
        """Parse `auto`, `auto:12`, `3:12` or `5+10`."""
        base, plus, more = (part.strip() for part in text.partition("+"))
        if plus and base.isdecimal() and more.isdecimal() and int(base):
            return cls(int(base), int(base) + int(more), if_suspect=True)
        first, _, last = (part.strip() for part in text.partition(":"))
        if first == "auto" and not last and ":" not in text:
            return cls()
        least = str(LEAST) if first == "auto" else first
        if not least.isdecimal() or not last.isdecimal() or not 1 <= int(least) <= int(last):
            raise ValueError(EXPECTED_REPEATS)
        return cls(int(least), int(last))

    def __str__(self) -> str:
        return (
            f"{self.least}+{self.most - self.least}"
            if self.if_suspect
            else f"{self.least}:{self.most}"
        )

    def upto(self, repeats: int) -> range:
        """The looks that repeats have had by now; one in any case."""
        last = min(repeats, self.most)
        return range(min(self.least, last), last + 1)


USUAL: Final = Looks(5, 15, if_suspect=True)
"""What a session without `--ansor-repeats` does (`benchmarks/default_sessions.py`)."""
