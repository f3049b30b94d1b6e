"""What each of several looks at the runs so far may conclude, so that all of them may be trusted.

A test that is asked again after every repeat, each time at 2.5%, is wrong far more often than that.
So each look has a level of its own. After a share t of the most repeats, all looks so far together
may be wrong in a share t of the rate that was asked for: an error that is spent as the runs come in
(Lan and DeMets 1983, https://doi.org/10.1093/biomet/70.3.659). How much of it a look spends
depends on those before, with which it shares its runs. As sums of independent runs their statistics
move like a Brownian motion, whose way between the limits of successive looks is integrated
numerically (Armitage, McPherson and Rowe 1969, https://doi.org/10.2307/2343787). A look that has
too few relabellings of labels to show its level spends nothing, and leaves its share to the next.

The tests themselves stay exact at each look; `benchmarks/verdicts.py` simulates the rates over all.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Final

import numpy as np
from scipy.special import ndtr

from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.trajectory import Floats

_GRID: Final = 801
_WIDTH: Final = 8.0  # the grid reaches this many standard deviations to either side


def level_at(looks: Looks, repeats: int, total: float, cases: int) -> float:
    """The one-sided level of one look."""
    first = min(looks.least, repeats)
    return _levels(first, looks.most, total, cases)[min(repeats, looks.most) - first]


@functools.lru_cache(maxsize=256)
def _levels(first: int, last: int, total: float, cases: int) -> tuple[float, ...]:
    """The level of each look, from the first to the last."""
    normal = NormalDist()
    # A Brownian motion at times of repeats; density on its way below all limits so far.
    places = np.zeros(1)
    density = np.ones(1)
    spent, before, found = 0.0, 0, []
    for repeats in range(first, last + 1):
        step = math.sqrt(repeats - before)
        may_spend = total * repeats / last - spent
        limit = _limit(places, density, step, may_spend)
        level = 1.0 - normal.cdf(limit / math.sqrt(repeats))
        smallest = smallest_chance(repeats, repeats) ** cases if cases else 0.0
        if level < smallest:
            # Nothing can be concluded at this look, and nothing of the error is spent.
            limit, level = _WIDTH * math.sqrt(repeats), smallest / 2.0
        else:
            spent += may_spend
        grid = np.linspace(-_WIDTH * math.sqrt(repeats), limit, _GRID)
        weight = np.full(_GRID, grid[1] - grid[0])
        weight[[0, -1]] /= 2.0
        kernel = np.exp(-(((grid[:, np.newaxis] - places) / step) ** 2) / 2.0)
        density = (kernel @ density) / (step * math.sqrt(2.0 * math.pi)) * weight
        places, before = grid, repeats
        found.append(level)
    return tuple(found)


def _limit(places: Floats, density: Floats, step: float, wanted: float) -> float:
    """The limit that is crossed in the next step with a probability."""
    low, high = float(places[0]) - _WIDTH * step, float(places[-1]) + _WIDTH * step
    for _ in range(50):
        middle = (low + high) / 2.0
        if float(density @ ndtr((places - middle) / step)) > wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
