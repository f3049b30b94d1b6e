"""What repeats can show: the sentence under a gate that is undecided.

Normal theory for the logarithm of a ratio: with a spread s of a single pair of runs, n pairs
leave a standard error of s / sqrt(n), and an effect d is shown with a chance of 80% if

    d >= (t(n - 1 degrees, confidence) + 0.84) * s / sqrt(n)

van Belle 2008, Statistical Rules of Thumb, chapter 2. `benchmarks/verdicts.py` holds it against
simulated verdicts; `docs/results/verdicts.txt` has the table.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from scipy.special import stdtrit

POWER: Final = 0.8  # the chance that is asked for, as is the custom
FEWEST_REPEATS: Final = 3  # fewer leave no interval to speak of
MOST_REPEATS: Final = 100  # more than anybody runs
ONE_ERROR: Final = 0.6827  # probability within one standard error of a normal distribution's mean


def t_quantile(confidence: float, degrees: int) -> float:
    """Student's t, such that a variable lies between -t and t with that probability."""
    return float(stdtrit(degrees, (1.0 + confidence) / 2.0))


def detectable_effect(spread: float, repeats: int, confidence: float, cases: int = 1) -> float:
    """The smallest effect, as a difference of log ratios, that repeats show with that chance.

    The spread is the standard deviation of the log ratio of a single pair of runs, or of one pair
    of each of several cases; of single pairs it is the cases that differ.
    """
    degrees = max(1, cases * (repeats - 1) if repeats > 1 else cases - 1)
    quantile = t_quantile(confidence, degrees) + NormalDist().inv_cdf(POWER)
    return quantile * spread / math.sqrt(repeats)
