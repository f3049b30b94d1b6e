"""How much a figure owes to the seeds that happened to be drawn."""

from __future__ import annotations

import functools
import math
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.power import t_quantile
from pytest_ansorbench.stats.trajectory import Floats

# Resamples per interval; enough for the ends of a 99% interval to be steady
RESAMPLES: Final = 10_000

_SEED: Final = 20_230_817  # fixed, so that the same runs always give the same interval

Draws = NDArray[np.intp]  # indices of runs, shape (resamples, repeats)


@functools.lru_cache(maxsize=16)
def draw(repeats: int, *, stream: int = 0) -> Draws:
    """Seeds drawn with replacement, as often as there are seeds, again and again.

    Seeds are drawn, not runs: both arms of a seed stay together, so what the seeds share
    cancels. Censored runs take part like any other.
    Efron 1979, https://doi.org/10.1214/aos/1176344552
    """
    drawn = np.random.default_rng([_SEED, stream]).integers(repeats, size=(RESAMPLES, repeats))
    drawn.flags.writeable = False  # handed out again and again
    return drawn


def percentile_interval(
    ratios: Floats, repeats: int, confidence: float, *, samples: int = 1
) -> tuple[float, float]:
    """Expanded percentile interval of a ratio.

    A resample without a hit gives infinity or 0, and both have a rank. A resample with nothing
    to compare (NaN) widens the interval to both sides.

    With few seeds a plain percentile interval is too narrow: it spreads like a normal
    distribution with the variance of the sample, not like Student's t. The tails are cut
    where Hesterberg's expanded interval cuts them, at

        normal CDF of -sqrt(n / (n - 1)) * t(k (n - 1) degrees, confidence)

    with k the number of samples that the figure's variance comes from: one for a mean over pairs,
    two for a quotient of two arms' expected times, which vary by themselves.
    Hesterberg 2014, What Teachers Should Know about the Bootstrap,
    https://arxiv.org/abs/1411.5279. Below five seeds even that ends up at the most extreme
    resamples, which cover less than asked for; `docs/research/verdicts.md` has the figures.
    A single run
    proves nothing.
    """
    if repeats < 2:
        return 0.0, math.inf
    unknown = np.isnan(ratios)
    expansion = math.sqrt(repeats / (repeats - 1)) * t_quantile(confidence, samples * (repeats - 1))
    tail = NormalDist().cdf(-expansion)
    # An order statistic, not numpy.quantile's default: interpolation next to an infinity
    # gives NaN.
    below = math.floor(tail * (len(ratios) - 1))
    low = np.sort(np.where(unknown, 0.0, ratios))[below]
    high = np.sort(np.where(unknown, math.inf, ratios))[len(ratios) - 1 - below]
    return float(low), float(high)
