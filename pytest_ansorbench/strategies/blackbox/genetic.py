"""A genetic algorithm on decisions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_at_least, require_share


@dataclass(frozen=True)
class Genetic(PointSearchPolicy):
    """A genetic algorithm without a model, as AutoTVM's `GATuner`.

    Parents are drawn in proportion to their throughput, from the last generation and the best of
    all before. A child has the decisions of one up to a random place, and then those of the other,
    if both are of the same sketch; else it is like the first. Each decision is drawn anew with a
    small chance, and so is the sketch; and then one after the other, until nobody has had the
    child.

    `GATuner` has generations of 100. A third of that leaves as many generations to a budget of some
    hundred trials as it had with a thousand.

    Attributes:
        population: Trials of a generation.
        elites: Best points of all so far that are parents again.
        mutation: Chance of each decision to be drawn anew.
    """

    population: int = 32
    elites: int = 3
    mutation: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, 1, "population")
        require_at_least(self, 0, "elites")
        require_share(self, "mutation")

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search whose first generation is random."""
        return _Genetic(self, space, rng)


class _Genetic(PointSearch):
    def __init__(self, policy: Genetic, space: DesignSpace, rng: np.random.Generator) -> None:
        self._policy = policy
        self._space = space
        self._rng = rng
        self._generation: list[Tried] = []
        self._parents: list[Tried] = []
        self._elites: list[Tried] = []

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        missing = self._policy.population - len(self._generation)
        for _ in range(min(wanted, missing)):
            child = self._child() if self._parents else self._space.draw(self._rng)
            yield Suggestion(self._space.fresh(child, taken, self._rng, near_share=0.0))

    def tell(self, tried: Sequence[Tried]) -> None:
        self._generation += tried
        if len(self._generation) >= self._policy.population:
            self._parents = [*self._generation, *self._elites]
            ranked = sorted(self._parents, key=lambda one: -one.gflops)
            self._elites = ranked[: self._policy.elites]
            self._generation = []

    def _child(self) -> Point:
        gflops = np.array([one.gflops for one in self._parents])
        chances = gflops / gflops.sum() if gflops.any() else None
        one, other = self._rng.choice(len(self._parents), size=2, p=chances).tolist()
        index, vector = self._parents[one].point
        of_other, others = self._parents[other].point
        if index == of_other:
            place = int(self._rng.integers(len(vector) + 1))
            vector = (*vector[:place], *others[place:])
        return self._mutated((index, vector))

    def _mutated(self, point: Point) -> Point:
        index, vector = point
        [drawn] = self._space.spaces[index].draw(1, self._rng).tolist()
        anew = (self._rng.random(1 + len(vector)) < self._policy.mutation).tolist()
        if anew.pop():
            return self._space.draw(self._rng)
        chosen = zip(vector, drawn, anew, strict=True)
        return index, tuple(fresh if changed else old for old, fresh, changed in chosen)
