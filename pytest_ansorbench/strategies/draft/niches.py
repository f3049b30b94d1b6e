"""Keeps a batch from gathering around one program: niches lose what they have had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.knobs import TileKnob
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point, by_sketch
from pytest_ansorbench.strategies.errors import require_positive, require_share


@dataclass(frozen=True)
class FitnessSharing:
    """Lowers what points promise by how often their like has been tried.

    Around a fast program lie hundreds that differ in what does not matter: which of two outer
    loops is split, where padding is computed. All of them promise what it has, none gains
    anything. What does matter is the block that is computed in registers, the innermost tiles of
    all loops. Points of a sketch with the same innermost tiles are a niche, whose members share
    what it promises (Goldberg and Richardson, "Genetic algorithms with sharing for multimodal
    function optimization", 1987; there niches go by distance).

    Attributes:
        trials: Trials after which a niche counts as twice as crowded as an empty one.
        power: Of the crowding, which a promise is divided by; 0 for none.
        in_batch: What a promise is multiplied by for each better one of its niche in this batch.
    """

    trials: float = 4.0
    power: float = 0.2
    in_batch: float = 0.9

    def __post_init__(self) -> None:
        require_positive(self, "trials")
        require_share(self, "power", "in_batch")

    def shared(
        self,
        ranked: Sequence[tuple[float, Point]],
        measured: Sequence[Point],
        spaces: Sequence[DecisionSpace],
    ) -> list[tuple[float, Point]]:
        """Points in the order of what they promise as members of their niches.

        `ranked` have their scores, all 0 or more, the best first; `measured` were tried.
        """
        if not ranked:
            return []
        points = [point for _, point in ranked]
        niches = _niches([*points, *measured], spaces)
        tried = np.bincount(niches[len(points) :], minlength=int(niches.max()) + 1)
        niches = niches[: len(points)]
        scores = np.array([score for score, _ in ranked])
        alone = scores * (1.0 + tried[niches] / self.trials) ** -self.power
        order = np.argsort(-alone, kind="stable")
        better = np.empty(len(points), dtype=np.int64)
        better[order] = _earlier_equals(niches[order])
        promised = alone * self.in_batch**better
        order = np.argsort(-promised, kind="stable")
        return [*zip(promised[order].tolist(), (points[at] for at in order.tolist()), strict=True)]


def _niches(points: Sequence[Point], spaces: Sequence[DecisionSpace]) -> NDArray[np.int64]:
    """A number for the niche of each point, shape (points,)."""
    widest = max(len(space.knobs) for space in spaces)
    rows = np.zeros((len(points), 1 + widest), dtype=np.int64)
    for index, places, vectors in by_sketch(points):
        rows[places, 0] = index
        for place, knob in enumerate(spaces[index].knobs):
            if isinstance(knob, TileKnob):
                rows[places, 1 + place] = knob.innermost[vectors[:, place]]
    _, numbers = np.unique(rows, axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def _earlier_equals(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values before each are equal to it, shape (values,)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(values)), 0))
    found = np.empty(len(values), dtype=np.int64)
    found[order] = np.arange(len(values)) - first
    return found
