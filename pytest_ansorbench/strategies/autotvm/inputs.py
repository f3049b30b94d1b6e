"""What a model is told of a program: its decisions, or the features of its loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.decisions.traced import TracedDesign
from pytest_ansorbench.strategies.errors import StrategyError
from pytest_ansorbench.strategies.features import POOLED, extract, extractor_of, pool

# Features of points, shape (points, columns).
Rows = Callable[[Sequence[Point]], NDArray[np.float32]]


class ModelInputs(Protocol):
    """Makes features of points."""

    def start(self, space: DesignSpace) -> Rows:
        """What makes them for one task of one run."""
        ...


@dataclass(frozen=True)
class DecisionInputs:
    """The decisions themselves (section 4, configuration features); no program is made.

    They are told as `draft` does: as logarithms of tile sizes, and what follows from these.
    """

    def start(self, space: DesignSpace) -> Rows:
        """The encoding of a design space."""
        return space.rows


@dataclass(frozen=True)
class LoopInputs:
    """Features of loops and the memory that they touch (section 3.1), flattened.

    They are MetaSchedule's per store, `PerStoreFeature`, pooled to a row as `features.pool` does.
    AutoTVM's own were of the same kind: of each loop its extent, annotation, and what each buffer
    touches within it. Each point that is scored has to become a program, which takes milliseconds.
    """

    def start(self, space: DesignSpace) -> Rows:
        """What makes programs and extracts their features.

        Raises:
            StrategyError: No programs can be made of the space's points.
        """
        if not isinstance(space, TracedDesign):
            raise StrategyError(
                "bad inputs LoopInputs(): these points have no programs; expected DecisionInputs()"
            )
        return _LoopRows(space)


class _LoopRows:
    def __init__(self, space: TracedDesign) -> None:
        self._space = space
        self._extractor = extractor_of(None)
        self._known: dict[Point, NDArray[np.float32]] = {}

    def __call__(self, points: Sequence[Point]) -> NDArray[np.float32]:
        """Rows of points, of those that are no program NaN."""
        fresh = [point for point in dict.fromkeys(points) if point not in self._known]
        programs = self._space.maker.map(self._space.program, fresh)
        self._known |= dict.fromkeys(fresh, np.full(POOLED, np.nan, dtype=np.float32))
        made = [pair for pair in zip(fresh, programs, strict=True) if pair[1] is not None]
        if made:
            candidates = [one.candidate().measure_candidate for _, one in made if one is not None]
            rows = pool(extract(self._extractor, self._space.maker.context, candidates))
            self._known |= {point: row for (point, _), row in zip(made, rows, strict=True)}
        return np.array([self._known[point] for point in points], dtype=np.float32)
