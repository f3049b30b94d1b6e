"""How many repeats it takes: the sentence under a gate that is undecided.

Normal theory for the logarithm of a ratio: with a spread s of a single pair of runs, n pairs
leave a standard error of s / sqrt(n), and an effect d is shown with a chance of 80% if

    d >= (t(n - 1 degrees, confidence) + 0.84) * s / sqrt(n)

van Belle 2008, Statistical Rules of Thumb, chapter 2. `benchmarks/verdicts.py` holds it against
simulated verdicts, whose table stands in `docs/methodology.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Final

import numpy as np

from pytest_ansorbench.stats.ladder import ladder_ratio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.student import t_quantile
from pytest_ansorbench.stats.throughput_ratio import seed_ratios
from pytest_ansorbench.stats.trajectory import Floats, Spending

POWER: Final = 0.8  # the chance that is asked for, as is the custom

FEWEST_REPEATS: Final = 3  # fewer leave no interval to speak of

MOST_REPEATS: Final = 100  # more than anybody runs

ONE_ERROR: Final = 0.6827  # probability within one standard error of a normal distribution's mean

_OUTER: Final = 0.9  # confidence of the outer interval that a spread is taken from


def detectable_effect(
    spread: float, repeats: int, confidence: float, cases: int = 1, power: float = POWER
) -> float:
    """The smallest effect that a number of repeats shows with a chance."""
    degrees = max(1, cases * (repeats - 1) if repeats > 1 else cases - 1)
    quantile = t_quantile(confidence, degrees) + NormalDist().inv_cdf(power)
    return quantile * spread / math.sqrt(repeats)


def repeats_needed(
    effect: float,
    spread: float,
    confidence: float,
    cases: int = 1,
    power_at: Callable[[int], float] = lambda repeats: POWER,
) -> int | None:
    """How many repeats show an effect with a chance.

    Returns: From `FEWEST_REPEATS` to `MOST_REPEATS`; None if it takes more.
    """
    for repeats in range(FEWEST_REPEATS, MOST_REPEATS + 1):
        power = power_at(repeats)
        if power < 1.0 and detectable_effect(spread, repeats, confidence, cases, power) <= effect:
            return repeats
    return None


def search_spread(paired: PairedRuns, spending: Spending) -> float | None:
    """Spread of the log search ratio per pair of runs.

    Returns: The spread; None below three pairs or if an arm never reached a target.
    """
    if paired.goal.kind == "way":
        return _ladder_spread(paired, spending)
    return _running_time_spread(paired, spending)


def _ladder_spread(paired: PairedRuns, spending: Spending) -> float | None:
    """From exact intervals, by the standard errors that a normal distribution's reach to.

    A jackknife would not do: as a median S does not change at all when some pairs are left out. Of
    an inner and an outer interval the wider one counts, as searches scatter with heavy tails.
    """
    n = len(paired.reference)
    widths = []
    for confidence in (ONE_ERROR, _OUTER):
        estimate = ladder_ratio(paired, spending, confidence)
        if estimate.bound == "value" and estimate.low > 0.0 and not math.isinf(estimate.high):
            errors = NormalDist().inv_cdf(0.5 + confidence / 2.0)
            widths.append(math.log(estimate.high / estimate.low) / 2.0 / errors)
    if n < FEWEST_REPEATS or not widths:
        return None
    return max(widths) * math.sqrt(n)


def _running_time_spread(paired: PairedRuns, spending: Spending) -> float | None:
    """Of expected running times, by the infinitesimal jackknife.

        u_i = spent_i / mean(spent) - reached_i / mean(reached)    per arm and run
        spread = standard deviation of u_i(challenger) - u_i(reference) over the pairs

    Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, chapter 6.
    """
    target_s = np.array([paired.target_s])
    influences = []
    for arm in (paired.challenger, paired.reference):
        spent, reached = (
            np.concatenate(parts)
            for parts in zip(*(run.spent(target_s, spending) for run in arm), strict=True)
        )
        if len(arm) < FEWEST_REPEATS or not reached.any() or not spent.any():
            return None
        influences.append(spent / spent.mean() - reached / reached.mean())
    return _deviation(influences[0] - influences[1])


def throughput_spread(paired: PairedRuns) -> float | None:
    """Spread of the log throughput ratio per pair of runs.

    Returns: The spread; None below three pairs or if a winner could not be measured again.
    """
    ratios = seed_ratios(paired.reference, paired.challenger)
    if len(ratios) < FEWEST_REPEATS or not np.isfinite(ratios).all() or not ratios.all():
        return None
    return _deviation(np.log(ratios))


def _deviation(values: Floats) -> float:
    return float(values.std(ddof=1))
