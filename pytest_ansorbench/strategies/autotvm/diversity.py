"""A batch whose points differ in what they decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_at_least


@dataclass(frozen=True)
class Diversity:
    """Chooses points that are promising, and cover many choices between them (equation 3 in 3.3).

    It maximizes, of a batch S,

        sum of scores + weight * number of choices of each decision that occur in S

    which is submodular, by taking the point next that adds most, as the paper does. Scores count in
    standard deviations of those that there are to choose from. The paper does not give the weight;
    TVM leaves scores out, and takes as many candidates as are wanted, times a ratio.

    Attributes:
        ratio: The paper's lambda: candidates for each trial of the batch. It compares 1, which
            leaves no choice, 2 and 4.
        weight: The paper's alpha; 0 for the best scores.
    """

    ratio: int = 2
    weight: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, 1, "ratio")
        require_at_least(self, 0, "weight")

    def ordered(self, ranked: Sequence[tuple[float, Point]]) -> list[tuple[float, Point]]:
        """All points in the order in which they are chosen; `ranked` are the best first."""
        left, chosen = [*ranked], []
        deviation = float(np.std([score for score, _ in ranked])) or 1.0 if ranked else 1.0
        covered: set[tuple[int, int, int]] = set()

        def gain(one: tuple[float, Point]) -> float:
            score, point = one
            return score / deviation + self.weight * len(_choices(point) - covered)

        while left:
            best = max(left, key=gain)
            left.remove(best)
            chosen.append(best)
            covered |= _choices(best[1])
        return chosen


def _choices(point: Point) -> set[tuple[int, int, int]]:
    index, vector = point
    return {(index, place, choice) for place, choice in enumerate(vector)}
