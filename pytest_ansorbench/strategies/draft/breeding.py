"""A small genetic search by the cost model: programs that the draft's model would not think of.

The draft's model knows a task's decisions, and trusts what is near to what it has seen. The cost
model knows programs. Ansor's way to ask it is a genetic search over programs
(https://arxiv.org/abs/2006.06762, section 5.1), which stock MetaSchedule does with 2,048 of them
for each batch, from 100 measurements on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.checks import require_at_least, require_share
from pytest_ansorbench.strategies.draft.neighbourhood import Neighbourhood, Point, scattered
from pytest_ansorbench.strategies.draft.replays import Drafted, Replays
from pytest_ansorbench.strategies.draft.space import DecisionSpace

Score = Callable[[Sequence[Drafted]], NDArray[np.float64]]
"""Scores programs, larger being better, shape (programs,)."""


@dataclass(frozen=True)
class Breeding:
    """Part of each batch are the best of some generations of programs, by the cost model.

    The first generation is drawn at random, of all sketches alike. A later one are neighbours of
    parents, which are drawn in proportion to their scores. Half as many as a generation has may be
    parents: the best of all programs so far and of the fastest measured ones.

    Attributes:
        share: Share of a batch.
        population: Programs of a generation.
        generations: Generations after the first.
        from_trials: Trials from which on the cost model is asked.
        measured: Fastest measured programs that are parents, too.
    """

    share: float = 0.5
    population: int = 128
    generations: int = 3
    from_trials: int = 48
    measured: int = 32

    def __post_init__(self) -> None:
        require_share(self, "share", example=0.5)
        require_at_least(self, "population", 1, example=128)
        for name in ("generations", "from_trials", "measured"):
            require_at_least(self, name, 0, example=getattr(type(self), name))

    def programs(
        self,
        spaces: Sequence[DecisionSpace],
        known: Sequence[tuple[Point, float]],
        neighbourhood: Neighbourhood,
        replays: Replays,
        score: Score,
        rng: np.random.Generator,
    ) -> list[Drafted]:
        """All programs of a search, best first; they are taken.

        Args:
            spaces: The sketches.
            known: Measured points with their throughput over the best so far, fastest first.
            neighbourhood: Says what a neighbour is.
            replays: Makes programs.
            score: The cost model's scores of programs, where the best measured has about 1.
            rng: Source of randomness.
        """
        each = -(-self.population // len(spaces))
        first = [point for space in spaces for point in scattered(space, each, rng)]
        rng.shuffle(first)
        found = replays.programs(self._new(first, replays), self.population)
        scores = score(found) if found else np.empty(0)
        for _ in range(self.generations):
            parents = [one.point for one in found] + [point for point, _ in known[: self.measured]]
            fitness = [*scores, *(gflops for _, gflops in known[: self.measured])]
            if not parents:
                break
            children = self._children(parents, fitness, spaces, neighbourhood, rng)
            fresh = replays.programs(self._new(children, replays), self.population)
            if fresh:
                found += fresh
                scores = np.concatenate([scores, score(fresh)])
        return [found[at] for at in np.argsort(-scores, kind="stable").tolist()]

    def _children(
        self,
        parents: Sequence[Point],
        fitness: Sequence[float],
        spaces: Sequence[DecisionSpace],
        neighbourhood: Neighbourhood,
        rng: np.random.Generator,
    ) -> list[Point]:
        """Neighbours of parents; twice as many as are wanted, since some are no new program."""
        fit = np.maximum(np.asarray(fitness, dtype=np.float64), 1e-6)
        best = np.argsort(-fit, kind="stable")[: max(1, self.population // 2)]
        drawn = rng.choice(best, 2 * self.population, p=fit[best] / fit[best].sum())
        return [
            (index, neighbourhood.walk(spaces[index], vector, rng))
            for index, vector in (parents[at] for at in drawn.tolist())
        ]

    @staticmethod
    def _new(points: Sequence[Point], replays: Replays) -> Iterator[Point]:
        """Different points that are not taken."""
        return (point for point in dict.fromkeys(points) if point not in replays.taken)
