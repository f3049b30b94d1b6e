"""What a search knows of points: what was measured, and said by the cost model."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.draft.survey import Survey

_MANY: Final = 16
"""Valid trials of a sketch beyond which its best one may be luck."""
_LUCK: Final = 2.0
"""What luck never makes of a throughput: the largest factor seen was 1.76."""


@dataclass
class Evidence:
    # Measured points and their throughput, in order; 0 for a failed trial.
    gflops: list[tuple[Point, float]] = field(default_factory=list)
    # Points that the cost model was asked about before anything was measured, and its score over
    # the highest of them, 0 or more.
    scores: list[tuple[Point, float]] = field(default_factory=list)

    @property
    def trials(self) -> int:
        return len(self.gflops)

    @property
    def best_gflops(self) -> float:
        """The best throughput so far; 0 before the first valid trial."""
        return max((gflops for _, gflops in self.gflops), default=0.0)

    @property
    def fastest(self) -> list[Point]:
        """Valid points, the fastest first; those with the best scores while there is none."""
        known = [one for one in self.gflops if one[1] > 0.0] or self.scores
        return [point for point, _ in sorted(known, key=lambda one: -one[1])]

    def shown_by_sketches(self, sketches: int) -> list[float]:
        """The best throughput of each sketch, of many the second best; scores while none is known.

        0 for a sketch without a valid trial. The best of many may be luck, and what is measured
        beside it shares that luck: it then takes two trials to speak for a sketch, unless the best
        is faster than luck makes a program.
        """
        found: list[list[float]] = [[] for _ in range(sketches)]
        for (index, _), value in self.gflops or self.scores:
            if value > 0.0:
                found[index].append(value)
        return [_shown(values) for values in found]

    def trials_of_sketches(self, sketches: int) -> list[int]:
        tried = Counter(index for (index, _), _ in self.gflops)
        return [tried[index] for index in range(sketches)]

    def labelled(
        self, survey: Survey | None
    ) -> tuple[list[Point], NDArray[np.float64], NDArray[np.float64]]:
        """What a model learns from, and how much each is to be trusted.

        Points; their throughput over the best and their trust, both of shape (points,).
        """
        points = [point for point, _ in self.gflops]
        gflops = np.array([gflops for _, gflops in self.gflops], dtype=np.float64)
        throughput = gflops / (self.best_gflops or 1.0)
        trust = np.ones(len(points))
        if survey is not None and len(points) < survey.trials:
            points += [point for point, _ in self.scores]
            throughput = np.append(throughput, [score for _, score in self.scores])
            trust = np.append(trust, np.full(len(self.scores), survey.weight))
        return points, throughput, trust


def _shown(values: Sequence[float]) -> float:
    best, second = heapq.nlargest(2, [*values, 0.0, 0.0])
    return second if len(values) > _MANY and best < _LUCK * second else best
