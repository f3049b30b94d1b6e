"""How the two arms' winning kernels compare, measured again side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import Draws, draw, percentile_interval
from pytest_ansorbench.stats.estimates import UNDEFINED, quotients
from pytest_ansorbench.stats.ranks import shift_interval
from pytest_ansorbench.stats.relabellings import (
    Relabellings,
    exchanges,
    some_relabellings,
    swaps_tell,
)
from pytest_ansorbench.stats.trajectory import Floats, Trajectory


def throughput_ratio(
    reference: Sequence[Trajectory], challenger: Sequence[Trajectory], confidence: float
) -> Estimate:
    """Final throughput, challenger over reference, as geometric mean over the seeds.

        exp(mean over the seeds of log(reference latency / challenger latency))

    Latencies are those of the re-measured winners, never those seen during the search, which
    are the luckiest of many samples. A seed without a challenger kernel counts as 0, one
    without a reference kernel as infinity; a seed without either says nothing.
    Geometric means of ratios: Fleming and Wallace 1986, https://doi.org/10.1145/5666.5673

    Returns: The estimate; undefined if no seed has a kernel, or if seeds at 0 meet seeds at
    infinity, which have no mean.
    """
    ratios = seed_ratios(reference, challenger)
    if len(ratios) == 0:
        return UNDEFINED
    value = float(geometric_means(ratios[np.newaxis, :])[0])
    if math.isnan(value):
        return UNDEFINED
    if np.isfinite(ratios).all() and ratios.all() and len(ratios) == len(reference):
        low, high = _exact_interval(reference, challenger, confidence)
    else:
        # A kernel that is missing has no place on a scale; it has one in a resample.
        low, high = percentile_interval(
            geometric_means(ratios[draw(len(ratios))]), len(ratios), confidence
        )
    return Estimate(value, min(low, value), max(high, value))


def _exact_interval(
    reference: Sequence[Trajectory], challenger: Sequence[Trajectory], confidence: float
) -> tuple[float, float]:
    """All ratios that the tests of `relabel.throughput_chance` do not reject.

    For each relabelling there is one ratio at which it looks as the labels do, so the ends are
    order
    statistics of these ratios. Garthwaite 1996, https://doi.org/10.2307/2532852. Those of exchanged
    arms are by signed ranks.
    """
    n, tail = len(reference), (1.0 - confidence) / 2.0
    logs = np.log([run.final_s for run in (*reference, *challenger)])
    if not swaps_tell(n, tail):
        low, high = _ends(logs, *some_relabellings(n, n, tail), tail)
    else:
        by_deals = _ends(logs, *some_relabellings(n, n, tail / 2.0), tail / 2.0)
        faster = shift_interval(logs[:n] - logs[n:], *exchanges(n, tail / 2.0), tail / 2.0)
        low, high = max(by_deals[0], faster[0]), min(by_deals[1], faster[1])
    return math.exp(low), math.exp(high)


def _ends(
    logs: Floats, relabellings: Relabellings, complete: bool, tail: float
) -> tuple[float, float]:
    """Ends of the interval of the log throughput ratio by one kind of relabellings."""
    n = len(logs) // 2
    slower = logs[relabellings[:, n:]].mean(axis=1) - logs[relabellings[:, :n]].mean(axis=1)
    seen = logs[n:].mean() - logs[:n].mean()
    # The challenger's share in the second group, less that in the first.
    kept = ((relabellings[:, n:] >= n).mean(axis=1) - (relabellings[:, :n] >= n).mean(axis=1)).clip(
        -1.0, 1.0
    )
    differs = kept < 1.0
    alike = np.sort(-(seen - slower[differs]) / (1.0 - kept[differs]))
    # Relabellings that give back the same groups look as bad at any ratio, and so does what was
    # seen.
    same = len(relabellings) - len(alike) + (not complete)
    total = len(relabellings) + (not complete)
    # An end is where the share of relabellings that look as bad gets above the tail.
    beyond = math.floor(tail * total * (1.0 + 1e-12)) - same
    if beyond < 0:
        return -math.inf, math.inf
    return float(alike[beyond]), float(alike[len(alike) - 1 - beyond])


def seed_ratios(reference: Sequence[Trajectory], challenger: Sequence[Trajectory]) -> Floats:
    """Throughput ratio of each seed that has a kernel of either arm, shape (seeds,)."""
    latencies = np.array(
        [(a.final_s, b.final_s) for a, b in zip(reference, challenger, strict=True)]
    )
    known = latencies[np.isfinite(latencies).any(axis=1)]
    return quotients(known[:, 0], known[:, 1])


def geometric_means(ratios: Floats) -> Floats:
    """Geometric mean of each row; NaN where 0 meets infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = np.exp(np.log(ratios).mean(axis=1))
    return means


def throughput_ratios(
    reference: Sequence[Trajectory], challenger: Sequence[Trajectory], drawn: Draws
) -> Floats:
    """The throughput ratio in each draw of the seeds.

    Returns: Shape (draws,); NaN where it is undefined.
    """
    reference_s = np.array([run.final_s for run in reference])
    challenger_s = np.array([run.final_s for run in challenger])
    return geometric_means(quotients(reference_s, challenger_s)[drawn])


def throughputs_gflops(runs: Sequence[Trajectory], drawn: Draws) -> Floats:
    """Geometric mean of the final throughput in each draw, in GFLOP/s.

    Returns: Shape (draws,); 0 where a drawn run has no kernel.
    """
    return geometric_means(np.array([run.run.flops / run.final_s / 1e9 for run in runs])[drawn])
