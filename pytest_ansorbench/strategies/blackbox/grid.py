"""Every point once."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point

_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Grid(PointSearchPolicy):
    """Every point of a space, in a fixed order; for spaces no larger than the budget.

    The sketches take turns. A sketch's points are numbered, its last decision changing fastest, and
    visited in steps of the golden section of their number, as near as there is a step that leads to
    all of them (Weyl's sequence): those of any budget are spread evenly over the whole. In spaces
    that are too large for the budget it goes on in that order, and its decisions say so.
    """

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search that is the same for every seed."""
        return _Grid(space, trials)


class _Grid(PointSearch):
    def __init__(self, space: DesignSpace, trials: float) -> None:
        self._space = space
        self._points = sum(one.size for one in space.spaces)
        self._exceeds = self._points > trials

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        spaces = self._space.spaces
        # Points that are no program are behind it, too.
        for turn in range(self.memory or 0, len(spaces) * max(space.size for space in spaces)):
            self.memory = turn + 1
            place, index = divmod(turn, len(spaces))
            if place < spaces[index].size:
                yield Suggestion((index, _visited(spaces[index], place)))

    def tell(self, tried: Sequence[Tried]) -> None:
        """The order is the same whatever was measured."""

    def decisions(self) -> Mapping[str, Any]:
        return {"grid": {"points": self._points, "exceeds_budget": self._exceeds}}


def _visited(space: DecisionSpace, place: int) -> tuple[int, ...]:
    """The vector that is visited in a place of a sketch's order."""
    number = place * _stride(space.size) % space.size
    vector = []
    for knob in reversed(space.knobs):
        number, choice = divmod(number, knob.size)
        vector.append(choice)
    return tuple(reversed(vector))


def _stride(size: int) -> int:
    """The number nearest to the golden section of a size that has no factor in common with it."""
    golden = round(size * _GOLDEN)
    return next(
        stride
        for away in range(size + 1)
        for stride in (golden + away, golden - away)
        if stride > 0 and math.gcd(stride, size) == 1
    )
