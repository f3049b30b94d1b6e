"""Takes a sub-space of a design space: some choices of each decision, all of them connected."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.knobs import Knob
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Vector

Centre = Callable[[DecisionSpace], Vector]
"""A good point of a sketch."""


def chosen(
    design: DesignSpace, points: int, centre: Centre, rng: np.random.Generator
) -> list[DecisionSpace]:
    """A sub-space of each sketch, of so many points at most in all, or the whole if it is small.

    All sketches get equal parts; what one is too small for goes to the others. Around the centre of
    a sketch choices are added one by one, each a neighbour (`Knob.near`) of one that is there: a
    random one, so that it leads far enough to bad programs. The decision that gets the next choice
    is the one with the smallest log(chosen) / log(all), so that each is as coarse as the others.

    Each choice is combined with each other one. So a step that changes one decision to a near
    choice leads to a point that was measured, or the choice is missing; and any point can be
    reached from any other by such steps.
    """
    found: dict[int, DecisionSpace] = {}
    by_size = sorted(design.spaces, key=lambda one: one.size)
    for at, space in enumerate(by_size):
        left = points - sum(one.size for one in found.values())
        share = max(1, left // (len(by_size) - at))
        found[space.index] = space if space.size <= share else _part(space, share, centre, rng)
    return [found[space.index] for space in design.spaces]


def _part(
    space: DecisionSpace, points: int, centre: Centre, rng: np.random.Generator
) -> DecisionSpace:
    kept = [[choice] for choice in centre(space)]
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
