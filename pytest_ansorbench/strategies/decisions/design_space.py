"""The design space of a task: all its sketches, each a space of decisions, as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from reprlib import repr as short
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.decisions.encoding import Encoding
from pytest_ansorbench.strategies.decisions.registers import Registers
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point
from pytest_ansorbench.strategies.errors import StrategyError

# Steps to a point that is not taken.
_STEPS: Final = 64


class RecordableProgram(Protocol):
    """What a point stands for: a program, or the record of one."""

    @property
    def fingerprint(self) -> int:
        """Equal for equal programs."""

    def candidate(self, payload: Any = None) -> Candidate:
        """It as a candidate for measurement."""


class DesignSpace(ABC):
    """The points of a task: a sketch, and a vector of its decisions.

    What points are, how they are drawn and changed, and what a model is told of them needs no TVM.
    What programs they stand for is asked of whatever knows: TVM, which makes them
    (`traced.TracedDesign`), or a record of those that were measured.

    Attributes:
        spaces: The decision space of each sketch, in the order of the sketches.
        encoding: What a model is told of points.
    """

    def __init__(self, spaces: Sequence[DecisionSpace]) -> None:
        self.spaces = spaces
        self.encoding = Encoding(spaces)

    @abstractmethod
    def programs(self, points: Sequence[Point]) -> Sequence[tuple[Point, RecordableProgram] | None]:
        """The program of each point, with the point that it is of.

        That is another one where a decision cannot be had. None if a point is no program.
        """

    @abstractmethod
    def fingerprint(self, candidate: Candidate) -> int:
        """The fingerprint of a candidate's program."""

    @property
    @abstractmethod
    def registers(self) -> Registers | None:
        """What programs are compiled for; None if that is no CPU."""

    def rows(self, points: Sequence[Point]) -> NDArray[np.float32]:
        """What a model is told of points, shape (points, columns)."""
        return self.encoding.rows(points)

    def draw(self, rng: np.random.Generator) -> Point:
        """A random point: each sketch as likely as any other, and each choice of a decision."""
        index = int(rng.integers(len(self.spaces)))
        [vector] = self.spaces[index].draw(1, rng).tolist()
        return index, tuple(vector)

    def stepped(self, point: Point, rng: np.random.Generator, near_share: float) -> Point:
        """A point with one decision changed, of which the sketch is one.

        See `DecisionSpace.stepped`. A point of another sketch is a random one. Equal to the given
        one if a decision has but one choice.
        """
        index, vector = point
        if len(self.spaces) > 1 and rng.random() * (1 + len(vector)) < 1.0:
            return self.draw(rng)
        return index, self.spaces[index].stepped(vector, near_share, *rng.random(3).tolist())

    def fresh(
        self, point: Point, taken: Container[Point], rng: np.random.Generator, near_share: float
    ) -> Point:
        """A point, or where steps from it first lead to one that is not taken, if they soon do."""
        for _ in range(_STEPS):
            if point not in taken:
                break
            point = self.stepped(point, rng, near_share)
        return point

    def note(self, point: Point) -> dict[str, Any]:
        """A point as JSON values, for a candidate's payload."""
        index, vector = point
        return {"sketch": index, "decisions": self.spaces[index].decisions_of(vector)}

    def point(self, note: Mapping[str, Any]) -> Point:
        """The point of a note.

        Raises:
            StrategyError: It is none of this space.
        """
        index: int = note["sketch"]
        of_sketch = self.spaces[index : index + 1]
        vector = of_sketch[0].vector_of(note["decisions"]) if of_sketch else None
        if vector is None:
            raise StrategyError(
                f"bad payload {short(note)}: expected decisions of sketch {index}; a "
                "journal of another version cannot be resumed"
            )
        return index, vector
