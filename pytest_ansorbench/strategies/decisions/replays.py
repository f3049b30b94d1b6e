"""Points become programs, none of them twice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace, RecordableProgram
from pytest_ansorbench.strategies.decisions.space import Point, shared_out

# Points that are replayed at most for each program that is wanted.
_PATIENCE: Final = 8
# The same where few are wanted.
_LEAST_PATIENCE: Final = 64
# Times that random points are drawn while none of them is a program.
_DRAWS: Final = 8


@dataclass(frozen=True, slots=True)
class Drafted:
    """A point that became a program, and what the model expects of it, if it was asked."""

    point: Point  # as TVM settled it
    asked: Point
    program: RecordableProgram
    predicted: float | None = None


class Replays:
    """Replays points of a task, and knows which points and programs have been proposed."""

    def __init__(self, space: DesignSpace) -> None:
        self._space = space
        self._fingerprints: set[int] = set()
        # Not to be proposed: points that were before, that are no program, or another's program.
        # Each is its own value: what else is known of a point is kept with this very object.
        self.taken: dict[Point, Point] = {}
        self.begin_round()

    def begin_round(self) -> None:
        # Points that failed are no program, repeated ones a program that was proposed before.
        self.replayed = self.failed = self.repeated = 0
        self.rejected: list[Point] = []

    def programs(self, order: Iterator[Point], wanted: int) -> list[Drafted]:
        """New programs of points in order, fewer if points run out or too many fail; all taken."""
        found: list[Drafted] = []
        left = _patience(wanted)
        while len(found) < wanted and left > 0:
            some = [*islice(order, min(left, wanted - len(found)))]
            if not some:
                break
            left -= len(some)
            for point, made in zip(some, self._space.programs(some), strict=True):
                self.replayed += 1
                if made is None:
                    self.failed += 1
                elif made[1].fingerprint in self._fingerprints:
                    self.repeated += 1
                else:
                    settled, program = made
                    self._fingerprints.add(program.fingerprint)
                    self.taken.setdefault(settled, settled)
                    found.append(Drafted(settled, point, program))
                    continue
                self.taken.setdefault(point, point)
                self.rejected.append(point)
        return found

    def strangers(
        self, wanted: int, rng: np.random.Generator, shares: NDArray[np.float64] | None = None
    ) -> list[Drafted]:
        """New programs of random points, of all sketches alike without shares.

        No program if no point is left, or if all that are drawn fail.
        """
        spaces = self._space.spaces
        if shares is None:
            shares = np.full(len(spaces), 1.0 / len(spaces))
        for _ in range(_DRAWS):
            points = [
                point
                for space, share in zip(spaces, shares, strict=True)
                for point in space.scattered(math.ceil(_patience(wanted) * share), rng)
                if point not in self.taken
            ]
            shuffled = [points[at] for at in rng.permutation(len(points)).tolist()]
            found = self.programs(shared_out(shuffled, shares), wanted)
            if found or not points:
                return found
        return []

    def payloads(self, drafted: Sequence[Drafted]) -> list[dict[str, Any]]:
        """Notes on a round's programs, for the journal: what `recall` has to know of them."""
        notes = [self._space.note(one.point) for one in drafted]
        notes[0]["rejected"] = [self._space.note(point) for point in self.rejected]
        return notes

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """Count candidates with such payloads as proposed, as before an interruption."""
        for candidate in candidates:
            note = candidate.payload
            for one in (note, *note.get("rejected", ())):
                point = self._space.point(one)
                self.taken.setdefault(point, point)
            self._fingerprints.add(self._space.fingerprint(candidate))

    def counts(self) -> dict[str, int]:
        """What became of the round's points, for the record."""
        return {"replayed": self.replayed, "failed": self.failed, "repeated": self.repeated}

    def release(self, drafted: Iterable[Drafted]) -> None:
        """Let points and programs be proposed again."""
        for one in drafted:
            self.taken.pop(one.point, None)
            self._fingerprints.discard(one.program.fingerprint)


def _patience(wanted: int) -> int:
    return max(_LEAST_PATIENCE, _PATIENCE * wanted)
