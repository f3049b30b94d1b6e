"""One session in several parts, each run by a machine of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.records.checks import ascend, check

_MOST: Final = 999_999
"""Parts of a session."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a session.

    Attributes:
        index: Which of them, from 1.
        count: How many there are.
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse `2/5`, the second of five.

        Raises:
            ValueError: It is no such thing; the message says what was expected.
        """
        found = re.fullmatch(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", text)
        index, count = map(int, found.groups()) if found else (0, 0)
        if not 1 <= index <= count:
            raise ValueError("expected one of N parts, from 1/N to N/N, e.g. 1/4")
        return cls(index, count)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class Shards:
    """Which parts of a session a result has.

    Attributes:
        count: How many parts the session has.
        there: Those that are there, from 1, in ascending order.
        cases: Ids of all cases of the session, those of other parts included.
    """

    count: int
    there: tuple[int, ...]
    cases: tuple[str, ...]

    def __post_init__(self) -> None:
        expected = f"from 1 to {_MOST}"
        check(1 <= self.count <= _MOST, "count", self.count, expected)
        there = self.there
        fits = bool(there) and there[0] >= 1 and there[-1] <= self.count and ascend(there)
        expected = f"at least one, from 1 to {self.count}, in ascending order"
        check(fits, "there", there, expected)

    @property
    def missing(self) -> tuple[Shard, ...]:
        """The parts that are not there."""
        every = range(1, self.count + 1)
        return tuple(Shard(index, self.count) for index in every if index not in self.there)
