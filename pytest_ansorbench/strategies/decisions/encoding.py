"""Vectors of all sketches of a task as rows of one table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point, by_sketch


@dataclass(frozen=True, eq=False)
class Trials:
    """Measured programs of sketches of one kind."""

    # Of their decisions, shape (trials, columns of the kind).
    features: NDArray[np.float32]
    # Over the best of the task, 0 for a failed trial; shape (trials,).
    throughput: NDArray[np.float64]


class Encoding:
    """Puts features of several spaces into columns that they share.

    The sketches of an operator differ little: most have the same loops to tile. What is learnt of
    a tile size on one of them is worth knowing on the others. A column that a sketch does not have
    is NaN, which trees take for missing; the last column is the sketch.
    """

    def __init__(self, spaces: Sequence[DecisionSpace]) -> None:
        self.kinds = kinds_of(spaces)
        self._spaces = spaces
        names = dict.fromkeys(name for space in spaces for name in space.columns)
        self.columns = (*names, "sketch")
        place = {name: index for index, name in enumerate(names)}
        self._places = [[place[name] for name in space.columns] for space in spaces]

    def rows(self, points: Sequence[Point]) -> NDArray[np.float32]:
        """Features of points, shape (points, columns)."""
        rows = np.full((len(points), len(self.columns)), np.nan, dtype=np.float32)
        for index, places, vectors in by_sketch(points):
            rows[places] = self.placed(index, self._spaces[index].features(vectors))
        return rows

    def placed(self, index: int, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features of one sketch, or of another task's of its kind, as rows of the table."""
        rows = np.full((len(features), len(self.columns)), np.nan, dtype=np.float32)
        rows[:, self._places[index]] = features
        rows[:, -1] = index
        return rows

    def known(self, source: Mapping[str, Trials]) -> Trials:
        """What is known of sketches of these kinds, as rows of the table; no rows if nothing is.

        The source has trials by kind of sketch.
        """
        found = [(index, source[kind]) for index, kind in enumerate(self.kinds) if kind in source]
        rows = [self.placed(index, trials.features) for index, trials in found]
        none = np.empty((0, len(self.columns)), dtype=np.float32)
        return Trials(
            np.concatenate([none, *rows]),
            np.concatenate([np.empty(0), *(trials.throughput for _, trials in found)]),
        )


def kinds_of(spaces: Sequence[DecisionSpace]) -> list[str]:
    """What kind of sketch each is: two of one kind, of whatever task, have the same features.

    A hash of their names, and the sketch's place among those of the task that have the same. A kind
    is of one kind of target.
    """
    found: list[str] = []
    for space in spaces:
        told = "\n".join(space.columns) + space.device
        digest = hashlib.sha256(told.encode()).hexdigest()[:16]
        found.append(f"{digest}-{sum(one.startswith(digest) for one in found)}")
    return found
