"""Takes a sub-space of a design space: some choices of each decision, all of them connected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pytest_ansorbench.strategies import VectorUnits
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.knobs import Knob
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Vector

# Random points of which the most promising is the centre.
_DRAWN: Final = 2_000


def chosen(design: DesignSpace, points: int, rng: np.random.Generator) -> list[DecisionSpace]:
    """A sub-space of each sketch, of so many points at most in all, or the whole if it is small.

    All sketches get equal parts; what one is too small for goes to the others. The centre of a
    sketch's sub-space is the point that `VectorUnits` likes best of some random ones, so that there
    are good programs. Around it choices are added one by one, each a neighbour (`Knob.near`) of one
    that is there: a random one, so that it leads far enough to bad programs. The decision that gets
    the next choice is the one with the smallest log(chosen) / log(all), so that each is as coarse
    as the others.

    Each choice is combined with each other one. So a step that changes one decision to a near
    choice leads to a point that was measured, or the choice is missing; and any point can be
    reached from any other by such steps.
    """
    found: dict[int, DecisionSpace] = {}
    by_size = sorted(design.spaces, key=lambda one: one.size)
    for at, space in enumerate(by_size):
        left = points - sum(one.size for one in found.values())
        share = max(1, left // (len(by_size) - at))
        found[space.index] = space if space.size <= share else _part(design, space, share, rng)
    return [found[space.index] for space in design.spaces]


def _part(
    design: DesignSpace, space: DecisionSpace, points: int, rng: np.random.Generator
) -> DecisionSpace:
    kept = [[choice] for choice in _centre(design, space, rng)]
    while True:
        size = math.prod(map(len, kept))
        larger = [
            place
            for place, (knob, some) in enumerate(zip(space.knobs, kept, strict=True))
            if size // len(some) * (len(some) + 1) <= points and _around(knob, some)
        ]
        if not larger:
            break

        def coarseness(place: int) -> tuple[float, int]:
            all_choices = space.knobs[place].size
            return math.log(len(kept[place])) / math.log(all_choices), -all_choices

        place = min(larger, key=coarseness)
        around = _around(space.knobs[place], kept[place])
        kept[place].append(around[int(rng.integers(len(around)))])
    knobs = [knob.some(sorted(some)) for knob, some in zip(space.knobs, kept, strict=True)]
    return DecisionSpace(space.index, knobs, space.footprints)


def _around(knob: Knob, some: Sequence[int]) -> list[int]:
    """Choices that are near to some, and none of them."""
    return sorted({near for choice in some for near in knob.near(choice)} - {*some})


def _centre(design: DesignSpace, space: DecisionSpace, rng: np.random.Generator) -> Vector:
    drawn = [tuple(vector) for vector in space.draw(_DRAWN, rng).tolist()]
    nests = [one.nests for one in design.spaces]
    guess = VectorUnits().model(nests, design.encoding.columns, design.registers)
    if guess is None:
        return drawn[0]
    promised = guess.predict(design.rows([(space.index, vector) for vector in drawn]))
    return drawn[int(promised.argmax())]
