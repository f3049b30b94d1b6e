"""Where drafts are looked for: at random, around the best measured, around the best predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point, allowed
from pytest_ansorbench.strategies.errors import require_at_least, require_share

# Scores points, larger being better, shape (points,).
Scorer = Callable[[Sequence[Point]], NDArray[np.float64]]


@dataclass(frozen=True)
class Neighbourhood:
    """How points are gathered for a model to score.

    Random ones of every sketch; neighbours of the best measured ones, some steps away; then,
    several times over, neighbours of the best predicted so far. A step mostly moves one prime
    factor between two tiles of a loop, which keeps all other loops as they are, or else draws that
    loop's tiling anew; other decisions go to a near choice.

    Attributes:
        random: Random points of each sketch.
        parents: Measured points whose neighbours are drawn.
        children: Neighbours of each.
        most_steps: Steps that such a neighbour is away, at most.
        climbs: Times that neighbours of the best predicted are drawn.
        climbers: Predicted points whose neighbours are drawn, each time.
        offspring: Neighbours of each.
        near_share: Share of steps to a near choice; see `DecisionSpace.stepped`.
    """

    random: int = 400
    parents: int = 24
    children: int = 40
    most_steps: int = 3
    climbs: int = 3
    climbers: int = 80
    offspring: int = 5
    near_share: float = 0.85

    def __post_init__(self) -> None:
        require_at_least(
            self, 0, "random", "parents", "children", "climbs", "climbers", "offspring"
        )
        require_at_least(self, 1, "most_steps")
        require_share(self, "near_share")

    def scaled(self, share: float) -> Neighbourhood:
        """The same with a share of the random points, children and climbers, one at least."""
        return replace(
            self,
            random=math.ceil(share * self.random),
            children=math.ceil(share * self.children),
            climbers=math.ceil(share * self.climbers),
        )

    def points(
        self,
        spaces: Sequence[DecisionSpace],
        measured: Sequence[Point],
        score: Scorer,
        taken: Callable[[Point], bool],
        rng: np.random.Generator,
    ) -> list[Point]:
        """New points, those with the best scores first; `measured` are valid, fastest first."""
        found = dict.fromkeys(
            point
            for space in spaces
            for point in space.scattered(self.random, rng)
            if not taken(point)
        )
        parents = [point for point in measured[: self.parents] for _ in range(self.children)]
        steps = rng.integers(1, self.most_steps + 1, size=len(parents)).tolist()
        for point in self._walked(spaces, parents, steps, rng):
            if not taken(point):
                found.setdefault(point)
        ranked = _ranked(allowed(spaces, found), score)
        for _ in range(self.climbs):
            climbers = [point for _, point in ranked[: self.climbers]]
            parents = [point for point in climbers for _ in range(self.offspring)]
            near = dict.fromkeys(self._walked(spaces, parents, [1] * len(parents), rng))
            fresh = [point for point in near if point not in found and not taken(point)]
            found.update(dict.fromkeys(fresh))
            ranked = sorted(
                [*ranked, *_ranked(allowed(spaces, fresh), score)], key=lambda one: -one[0]
            )
        return [point for _, point in ranked]

    def _walked(
        self,
        spaces: Sequence[DecisionSpace],
        parents: Sequence[Point],
        steps: Sequence[int],
        rng: np.random.Generator,
    ) -> Iterator[Point]:
        """Each parent, so many steps further.

        What is random is drawn for all at once: a draw by itself takes longer than a step.
        """
        draws = iter(rng.random((sum(steps), 3)).tolist())
        for (index, vector), count in zip(parents, steps, strict=True):
            for _ in range(count):
                vector = spaces[index].stepped(vector, self.near_share, *next(draws))
            yield index, vector


def _ranked(points: Iterable[Point], score: Scorer) -> list[tuple[float, Point]]:
    listed = list(points)
    if not listed:
        return []
    scored = zip(score(listed).tolist(), listed, strict=True)
    return sorted(scored, key=lambda one: -one[0])
