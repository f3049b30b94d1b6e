"""How many sets of fresh processes saved kernels are measured in, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.measure.side_by_side import SideBySide, Span

_PRECISION: Final = 0.01
"""Half the width of a ratio's interval at which `auto` is content."""
_AUTO: Final = Span(8, 24)
_TURNS: Final = Span(15, 30)
_EXPECTED: Final = "expected auto or a number from 2, e.g. 8"


@dataclass(frozen=True)
class ProcessSets:
    """How many sets each kernel is measured in."""

    sets: int | None = None
    """None for until each ratio is known to 1%, 8 to 24. Below 2 there is no interval."""

    def __post_init__(self) -> None:
        if self.sets is not None and self.sets < 2:
            raise ValueError(_EXPECTED)

    @classmethod
    def parse(cls, text: str) -> ProcessSets:
        """Read `auto` or a number; a ValueError says what was expected."""
        if text == "auto":
            return cls()
        if not text.isdecimal():
            raise ValueError(_EXPECTED)
        return cls(int(text))

    def __str__(self) -> str:
        return "auto" if self.sets is None else str(self.sets)

    @property
    def effort(self) -> SideBySide:
        """The effort of a measurement in turn that takes so many sets."""
        if self.sets is None:
            return SideBySide(precision=_PRECISION, turns=_TURNS, sets=_AUTO)
        return SideBySide(turns=_TURNS, sets=Span(self.sets, self.sets))
