"""Coordinate descent."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_at_least


@dataclass(frozen=True)
class Droplet(PointSearchPolicy):
    """Coordinate descent, as Droplet's (Canesche et al., arXiv:2406.20037).

    A descent begins at the fastest of some random points. Points that differ from the fastest in
    one decision, by as little as can be, are tried in random order; as soon as a batch has a faster
    one, it goes on from there. Where no such point is left, another descent begins, so that the
    whole budget is used.

    Droplet itself stops there, and starts at the fastest of some hundred random programs. TVM's own
    is `PostOptimization`.

    Attributes:
        starts: Random points of which the fastest begins a descent.
    """

    starts: int = 16

    def __post_init__(self) -> None:
        require_at_least(self, 1, "starts")

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search whose first descent is yet to begin."""
        return _Droplet(self, space, rng)


class _Droplet(PointSearch):
    def __init__(self, policy: Droplet, space: DesignSpace, rng: np.random.Generator) -> None:
        self._policy = policy
        self._space = space
        self._rng = rng
        # Of the current descent, whose number its trials have in their notes.
        self._descent = 0
        self._trials = 0
        self._fastest: Tried | None = None

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        descent, missing = self._descent, self._policy.starts - self._trials
        if self._fastest is not None and missing <= 0:
            near = [point for point in self._near(self._fastest.point) if point not in taken]
            if near:
                order = self._rng.permutation(len(near)).tolist()
                return [Suggestion(near[at], {"descent": descent}) for at in order]
            descent, missing = descent + 1, self._policy.starts
        points = (self._space.draw(self._rng) for _ in range(max(1, missing)))
        return (Suggestion(point, {"descent": descent}) for point in points)

    def tell(self, tried: Sequence[Tried]) -> None:
        for one in tried:
            descent = one.note.get("descent", self._descent)
            if descent > self._descent:
                self._descent, self._trials, self._fastest = descent, 0, None
            self._trials += 1
            if one.gflops > (self._fastest.gflops if self._fastest else 0.0):
                self._fastest = one

    def decisions(self) -> Mapping[str, Any]:
        return {"descents": self._descent + 1}

    def _near(self, point: Point) -> list[Point]:
        index, vector = point
        return [
            (index, (*vector[:at], choice, *vector[at + 1 :]))
            for at, knob in enumerate(self._space.spaces[index].knobs)
            for choice in knob.near(vector[at])
        ]
