"""How much a figure owes to the seeds that happened to be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.stats.student import t_quantile

RESAMPLES: Final = 10_000
"""Resamples per interval; enough for the ends of a 99% interval to be steady."""

_SEED: Final = 20_230_817
"""Fixed, so that the same runs always give the same interval."""

Statistic = Callable[[NDArray[np.intp]], NDArray[np.float64]]
"""Maps indices of runs, shape (resamples, repeats), to one ratio each, shape (resamples,).

NaN says that a resample holds nothing to compare.
"""


def percentile_interval(
    statistic: Statistic, repeats: int, confidence: float, *, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Expanded percentile interval of a ratio, from seeds drawn with replacement.

    Seeds are drawn, not runs: both arms of a seed stay together, so what the seeds share
    cancels. Censored runs take part; a resample without a hit gives infinity or 0, and both
    have a rank. A resample with nothing to compare widens the interval to both sides.
    Efron 1979, https://doi.org/10.1214/aos/1176344552

    With few seeds a plain percentile interval is too narrow: it spreads like a normal
    distribution with the variance of the sample, not like Student's t. The tails are cut
    where Hesterberg's expanded interval cuts them, at

        normal CDF of -sqrt(n / (n - 1)) * t(n - 1 degrees, confidence)

    Hesterberg 2014, What Teachers Should Know about the Bootstrap,
    https://arxiv.org/abs/1411.5279. Below five seeds even that ends up at the most extreme
    resamples, which cover less than asked for; `docs/methodology.md` has the figures.

    Args:
        statistic: The ratio as a function of the drawn runs.
        repeats: Number of paired runs.
        confidence: Share of the resamples inside, in (0, 1).
        resamples: Number of resamples.

    Returns:
        Lower and upper end; (0, infinity) below two repeats, since one run proves nothing.

    Raises:
        ValueError: `confidence` is not in (0, 1).
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"bad confidence {confidence!r}: expected a fraction, e.g. 0.95")
    if repeats < 2:
        return 0.0, math.inf
    generator = np.random.default_rng(_SEED)
    ratios = statistic(generator.integers(repeats, size=(resamples, repeats)))
    unknown = np.isnan(ratios)
    expansion = math.sqrt(repeats / (repeats - 1)) * t_quantile(confidence, repeats - 1)
    tail = NormalDist().cdf(-expansion)
    # An order statistic, not numpy.quantile's default: interpolation next to an infinity
    # gives NaN.
    below = math.floor(tail * (resamples - 1))
    low = np.sort(np.where(unknown, 0.0, ratios))[below]
    high = np.sort(np.where(unknown, math.inf, ratios))[resamples - 1 - below]
    return float(low), float(high)
