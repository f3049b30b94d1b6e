"""What a model is told of a program: its decisions, or the features of its loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.autotvm.nests import (
    CONTEXT,
    LOOPS,
    RELATIONS,
    contexts,
    nest_of,
    relations,
)
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.decisions.traced import TracedDesign
from pytest_ansorbench.strategies.errors import StrategyError
from pytest_ansorbench.strategies.features import POOLED, extract, extractor_of, pool
from pytest_ansorbench.strategies.program_maker import ProgramMaker, ScheduledProgram

# Features of points, shape (points, columns).
Rows = Callable[[Sequence[Point]], NDArray[np.float32]]
_Programs = Sequence[ScheduledProgram]


class ModelInputs(Protocol):
    """Makes features of points, a row of NaN alone for one that is no program."""

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


class _ProgramInputs(ABC):
    """Features of programs, one of which is made of each point that is scored."""

    columns: ClassVar[int]

    @abstractmethod
    def rows(self, maker: ProgramMaker, programs: _Programs) -> NDArray[np.float32]:
        """Shape (programs, columns)."""

    def start(self, space: DesignSpace) -> Rows:
        """What makes programs, and features of them.

        Raises:
            StrategyError: No programs can be made of the space's points.
        """
        if not isinstance(space, TracedDesign):
            raise StrategyError(
                f"bad inputs {self!r}: these points have no programs; expected DecisionInputs()"
            )
        return _ProgramRows(space, self)


@dataclass(frozen=True)
class LoopInputs(_ProgramInputs):
    """Features of loops and the memory that they touch (section 3.1), flattened.

    They are MetaSchedule's per store, `PerStoreFeature`, pooled to a row as `features.pool` does;
    `NestInputs` are as AutoTVM's own. Each point that is scored has to become a program, which
    takes milliseconds.
    """

    columns = POOLED

    def rows(self, maker: ProgramMaker, programs: _Programs) -> NDArray[np.float32]:
        """Features of stores, pooled."""
        candidates = [one.candidate().measure_candidate for one in programs]
        return pool(extract(extractor_of(None), maker.context, candidates))


@dataclass(frozen=True)
class NestInputs(_ProgramInputs):
    """All loops of a program with what each touches: the loop contexts of section 3.1, in order.

    What `TreeGRU` is told; trees see them as one row, as AutoTVM's did by default. A program is
    made of each point that is scored.
    """

    columns = LOOPS * (1 + CONTEXT)

    def rows(self, maker: ProgramMaker, programs: _Programs) -> NDArray[np.float32]:
        """The contexts of loops."""
        return contexts([nest_of(one.schedule.mod) for one in programs])


@dataclass(frozen=True)
class RelationInputs(_ProgramInputs):
    """How what a program touches grows with its loops (section 4, context relation features).

    Unlike those of `NestInputs`, a column means the same whatever loops there are. A program is
    made of each point that is scored.
    """

    columns = RELATIONS

    def rows(self, maker: ProgramMaker, programs: _Programs) -> NDArray[np.float32]:
        """Context relations."""
        return relations([nest_of(one.schedule.mod) for one in programs])


class _ProgramRows:
    """Makes the program of a point once; rows of those that are no program are NaN."""

    def __init__(self, space: TracedDesign, inputs: _ProgramInputs) -> None:
        self._space = space
        self._inputs = inputs
        self._known: dict[Point, NDArray[np.float32]] = {}

    def __call__(self, points: Sequence[Point]) -> NDArray[np.float32]:
        fresh = [point for point in dict.fromkeys(points) if point not in self._known]
        maker, columns = self._space.maker, self._inputs.columns
        programs = dict(zip(fresh, maker.map(self._space.program, fresh), strict=True))
        made = {point: one for point, one in programs.items() if one is not None}
        self._known |= dict.fromkeys(fresh, np.full(columns, np.nan, dtype=np.float32))
        self._known |= zip(made, self._inputs.rows(maker, [*made.values()]), strict=True)
        known = [self._known[point] for point in points]
        return np.array(known, dtype=np.float32).reshape(len(points), columns)
