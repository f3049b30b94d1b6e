"""Sketch policies: which sketches the new programs of a round are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

SKETCH_CHOOSER: Final = ("shares", "observe", "decisions")
"""Methods of a `SketchChooser`."""


class SketchChooser(Protocol):
    """Divides a population among sketches; lives for one task of one run.

    A round calls `shares`, once or several times, then `observe`, then `decisions`.
    """

    def shares(self) -> NDArray[np.float64]:
        """Probability of each sketch for a new program of this round.

        Returns:
            Shape (sketches,), none below 0, with a sum of 1.
        """
        ...

    def observe(self, sketches: Sequence[int], gflops: Sequence[float]) -> None:
        """Take note of a measured round.

        Args:
            sketches: For each trial the sketch that its program came from, -1 for none.
            gflops: For each trial its throughput in GFLOP/s, 0 if it failed.
        """
        ...

    def decisions(self) -> Mapping[str, Any]:
        """The decisions of the round that ended, for the record.

        Returns:
            JSON values by name; see `Proposer.decisions`.
        """
        ...


class SketchPolicy(Protocol):
    """Parameters of a sketch policy; `Evolution(sketches=...)` takes one."""

    def start(self, sketches: int) -> SketchChooser:
        """A new chooser for one task of one run.

        Args:
            sketches: How many sketches the task has, at least 1.
        """
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
