"""How the two arms' winning kernels compare, measured again side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.records import Estimate, Run
from pytest_ansorbench.stats.bootstrap import percentile_interval
from pytest_ansorbench.stats.running_time_ratio import UNDEFINED, quotients


def throughput_ratio(
    reference: Sequence[Run], candidate: Sequence[Run], confidence: float
) -> Estimate:
    """Final throughput, candidate over reference, as geometric mean over the seeds.

        exp(mean over the seeds of log(reference latency / candidate latency))

    Latencies are those of the re-measured winners, never those seen during the search, which
    are the luckiest of many samples. A seed without a candidate kernel counts as 0, one
    without a reference kernel as infinity; a seed without either says nothing.
    Geometric means of ratios: Fleming and Wallace 1986, https://doi.org/10.1145/5666.5673

    Args:
        reference: One run per seed.
        candidate: One run per seed, in the same order.
        confidence: Confidence of the interval, in (0, 1).

    Returns:
        The estimate; undefined if no seed has a kernel, or if seeds at 0 meet seeds at
        infinity, which have no mean.
    """
    latencies = np.array(
        [
            (_final_latency_s(a), _final_latency_s(b))
            for a, b in zip(reference, candidate, strict=True)
        ]
    )
    known = latencies[np.isfinite(latencies).any(axis=1)]
    ratios = quotients(known[:, 0], known[:, 1])
    if len(ratios) == 0:
        return UNDEFINED

    def resampled(drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        return _geometric_means(ratios[drawn])

    value = float(_geometric_means(ratios[np.newaxis, :])[0])
    if math.isnan(value):
        return UNDEFINED
    low, high = percentile_interval(resampled, len(ratios), confidence)
    return Estimate(value, min(low, value), max(high, value))


def _final_latency_s(run: Run) -> float:
    """Latency of the re-measured winner in seconds; infinity if there is none."""
    latency_s = run.final.latency_s if run.final else None
    return math.inf if latency_s is None else latency_s


def _geometric_means(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """Geometric mean of each row; NaN where 0 meets infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: NDArray[np.float64] = np.exp(np.log(ratios).mean(axis=1))
    return means
