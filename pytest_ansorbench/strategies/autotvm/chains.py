"""Simulated annealing on what a model predicts."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_at_least, require_positive


@dataclass(frozen=True)
class Annealed:
    """What annealing has found."""

    # Points that are not taken and their scores, the best first.
    ranked: Sequence[tuple[float, Point]]
    # Where the chains ended.
    ends: Sequence[Point]
    steps: int


@dataclass(frozen=True)
class Chains:
    """Markov chains that walk side by side, so that a model scores many points at once (3.3).

    A step draws one tiling anew, or changes another decision (`DecisionSpace.stepped`). It is taken
    with the chance

        exp((score there - score here) / temperature)

    and the temperature falls to 0 over the steps.

    Attributes:
        count: The paper's n_sa (appendix, configuration of the experiments).
        steps: The paper's step_sa, at most.
        temperature: At the start; TVM's.
        patience: Steps without a point among the best after which the walk ends; TVM's.
    """

    count: int = 128
    steps: int = 500
    temperature: float = 1.0
    patience: int = 50

    def __post_init__(self) -> None:
        require_at_least(self, 1, "count", "steps", "patience")
        require_positive(self, "temperature")

    def best(
        self,
        space: DesignSpace,
        starts: Sequence[Point],
        score: Callable[[Sequence[Point]], NDArray[np.float64]],
        most: int,
        taken: Container[Point],
        rng: np.random.Generator,
    ) -> Annealed:
        """The best points of all that chains from some points came by, at most so many."""
        points = [*starts]
        scores = score(points)
        found: dict[Point, float] = {}
        worst_of_best: list[float] = []  # a heap

        def note(some: Sequence[Point], of_each: NDArray[np.float64]) -> bool:
            """Whether one of some points is among the best so far."""
            better = False
            for point, value in zip(some, of_each.tolist(), strict=True):
                if point in found or point in taken:
                    continue
                found[point] = value
                if len(worst_of_best) < most:
                    heapq.heappush(worst_of_best, value)
                    better = True
                elif value > worst_of_best[0]:
                    heapq.heapreplace(worst_of_best, value)
                    better = True
            return better

        note(points, scores)
        step = last_better = 0
        while step < self.steps and step - last_better < self.patience:
            temperature = self.temperature * (1.0 - step / self.steps)
            others = [space.stepped(point, rng, near_share=0.0) for point in points]
            of_others = score(others)
            with np.errstate(over="ignore"):
                chances = np.exp((of_others - scores) / temperature)
            accepted = rng.random(len(points)) < chances
            scores = np.where(accepted, of_others, scores)
            triples = zip(accepted.tolist(), others, points, strict=True)
            points = [other if goes else point for goes, other, point in triples]
            step += 1
            if note(others, of_others):
                last_better = step
        ranked = sorted(((value, point) for point, value in found.items()), key=lambda x: -x[0])
        return Annealed(ranked[:most], points, step)
