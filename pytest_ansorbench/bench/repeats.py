"""Which repeat of a case comes next, and which count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_ansorbench.bench.history import CaseHistory


class RepeatPolicy(Protocol):
    """Decides by what is recorded, and by nothing else, so that a resumed session agrees."""

    @property
    def most(self) -> int:
        """How many repeats there will be at most, at least 1."""
        ...

    def next_seed(self, history: CaseHistory) -> int | None:
        """Seed of the repeat to run or to finish next; None if there are enough."""
        ...

    def seeds(self, history: CaseHistory) -> Sequence[int]:
        """Seeds of the complete repeats that are judged, in order."""
        ...


@dataclass(frozen=True)
class FixedRepeats:
    """A number of repeats that is known beforehand.

    Attributes:
        first_seed: Seed of the first repeat; the others count up from it.
        most: How many.
    """

    first_seed: int
    most: int

    def next_seed(self, history: CaseHistory) -> int | None:
        """The first that is not complete."""
        return next((seed for seed in self._all if not history.complete(seed)), None)

    def seeds(self, history: CaseHistory) -> Sequence[int]:
        """Those of the planned repeats that are complete; a journal may hold more."""
        return [seed for seed in self._all if history.complete(seed)]

    @property
    def _all(self) -> range:
        return range(self.first_seed, self.first_seed + self.most)
