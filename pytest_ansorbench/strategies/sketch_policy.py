"""Sketch policies: how the initial population of a round is shared out among the sketches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class SketchChooser(Protocol):
    """The live policy of one run."""

    def shares(self) -> NDArray[np.float64]:
        """Probability of each sketch, shape (sketches,), for the round that begins."""
        ...

    def observe(self, sketches: Sequence[int], gflops: Sequence[float]) -> None:
        """End the round: the sketch (-1 for none) and throughput (0 if failed) of each trial."""
        ...

    def decisions(self) -> Mapping[str, Any]:
        """What the policy decided in the round that ended, JSON values only."""
        ...


class SketchPolicy(Protocol):
    """Parameters of a sketch policy."""

    def start(self, sketches: int) -> SketchChooser:
        """The chooser for one run over this many sketches."""
        ...


@dataclass(frozen=True)
class UniformSketches:
    """Every sketch is equally likely, as in stock MetaSchedule: the control for the others."""

    def start(self, sketches: int) -> SketchChooser:
        """A chooser that never changes its mind."""
        return _Uniform(sketches)


class _Uniform:
    def __init__(self, sketches: int) -> None:
        self._sketches = sketches

    def shares(self) -> NDArray[np.float64]:
        return np.full(self._sketches, 1.0 / self._sketches)

    def observe(self, sketches: Sequence[int], gflops: Sequence[float]) -> None:
        pass

    def decisions(self) -> Mapping[str, Any]:
        return {}
