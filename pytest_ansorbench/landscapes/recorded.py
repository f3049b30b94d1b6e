"""A landscape as a design space: points are what was recorded of them, and need no TVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ansorbench.landscapes.records import Landscape, PointRecord
from pytest_ansorbench.strategies import Candidate
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.registers import Registers
from pytest_ansorbench.strategies.decisions.space import Point


@dataclass(frozen=True, slots=True)
class RecordedProgram:
    """The record of a program."""

    fingerprint: int

    def candidate(self, payload: Any = None) -> Candidate:
        return Candidate(None, payload)


class RecordedDesign(DesignSpace):
    """The sub-space that was measured; there are no other points.

    TVM makes equal programs of some points, e.g. where a block cannot be computed at a loop. The
    program's point is the first of them.
    """

    def __init__(self, landscape: Landscape) -> None:
        super().__init__(landscape.subject.spaces)
        self._registers = landscape.subject.registers
        points = [
            (space.index, tuple(vector))
            for space in self.spaces
            for vector in space.every().tolist()
        ]
        self._places = {point: place for place, point in enumerate(points)}
        self._records = landscape.results
        self._first: dict[str, Point] = {}
        for point, record in zip(points, self._records, strict=True):
            if record.program:
                self._first.setdefault(record.program, point)

    @property
    def different(self) -> list[Point]:
        """A point of each program."""
        return [*self._first.values()]

    @property
    def registers(self) -> Registers | None:
        return self._registers

    def place(self, point: Point) -> int:
        """Of a point in the landscape's results."""
        return self._places[point]

    def record(self, point: Point) -> PointRecord:
        return self._records[self.place(point)]

    def programs(self, points: Sequence[Point]) -> list[tuple[Point, RecordedProgram] | None]:
        """The record of each point's program."""
        found = [self.record(point).program for point in points]
        return [
            (self._first[program], RecordedProgram(int(program, 16))) if program else None
            for program in found
        ]

    def fingerprint(self, candidate: Candidate) -> int:
        """That of the program of its point."""
        return int(self.record(self.point(candidate.payload)).program, 16)
