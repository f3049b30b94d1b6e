"""How points of a design space are drawn, and changed a little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from pytest_ansorbench.strategies.decisions.knobs import TileKnob
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point, Vector

# Spaces up to this size are searched as a whole.
_SMALL: Final = 2_000


def scattered(space: DecisionSpace, count: int, rng: np.random.Generator) -> list[Point]:
    """Random points of a sketch, or all if it has few."""
    drawn = space.every() if space.size <= _SMALL else space.draw(count, rng)
    return [(space.index, tuple(vector)) for vector in drawn.tolist()]


def allowed(spaces: Sequence[DecisionSpace], points: Iterable[Point]) -> list[Point]:
    """Those that do not ask for what no GPU has, in order."""
    listed = list(points)
    fits = np.ones(len(listed), dtype=np.bool_)
    for index, space in enumerate(spaces):
        mine = [at for at, one in enumerate(listed) if one[0] == index]
        if mine:
            vectors = np.array([listed[at][1] for at in mine], dtype=np.int32)
            fits[mine] = space.allowed(vectors.reshape(len(mine), len(space.knobs)))
    return [point for point, fit in zip(listed, fits.tolist(), strict=True) if fit]


def stepped(
    space: DecisionSpace,
    vector: Vector,
    near_share: float,
    which: float,
    how: float,
    where: float,
) -> Vector:
    """A vector with one decision changed, as three numbers from 0 to below 1 say.

    `near_share` of the steps go to a near choice: one prime factor of a loop moves from a tile to
    another. The rest draw a tiling anew.
    """
    if not vector:
        return vector
    at = int(which * len(vector))
    knob = space.knobs[at]
    anew = isinstance(knob, TileKnob) and how >= near_share
    near = range(knob.size) if anew else knob.near(vector[at])
    if not near:
        return vector
    choice = near[int(where * len(near))]
    return (*vector[:at], choice, *vector[at + 1 :])
