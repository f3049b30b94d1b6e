"""How the two arms' winning kernels compare, measured again side by side.

Seeds may differ much and the arms of a seed little. Then exchanging the arms of seeds, by signed
ranks, sees what relabelling across seeds does not: both are asked, and the smaller chance is
doubled for having had two. Where pairs are so few that exchanges show nothing as rare as is asked,
relabelling is asked alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import Draws, draw, percentile_interval
from pytest_ansorbench.stats.estimates import UNDEFINED, around, quotients
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import FEWEST_REPEATS
from pytest_ansorbench.stats.ranks import chance_of_ranks, shift_interval
from pytest_ansorbench.stats.relabellings import (
    Relabellings,
    exchanges,
    fewest_repeats,
    permutation_chance,
    some_relabellings,
    swaps_tell,
)
from pytest_ansorbench.stats.trajectory import Floats, Trajectory

_LOST: Final = 1e6  # a kernel that could not be measured is slower than any other by this factor


def throughput_ratio(paired: PairedRuns, confidence: float) -> Estimate:
    """Final throughput, challenger over reference, as geometric mean over the seeds.

        exp(mean over the seeds of log(reference latency / challenger latency))

    Latencies are those of the re-measured winners, never those seen during the search, which
    are the luckiest of many samples. A seed without a challenger kernel counts as 0, one
    without a reference kernel as infinity; a seed without either says nothing. Undefined if no seed
    has a kernel, or if seeds at 0 meet seeds at infinity, which have no mean.
    Geometric means of ratios: Fleming and Wallace 1986, https://doi.org/10.1145/5666.5673
    """
    ratios = _seed_ratios(paired)
    if len(ratios) == 0:
        return UNDEFINED
    value = float(_geometric_means(ratios[np.newaxis, :])[0])
    if math.isnan(value):
        return UNDEFINED
    plain = np.isfinite(ratios) & (ratios > 0.0)
    if plain.all() and len(ratios) == len(paired.reference):
        low, high = _exact_interval(paired, confidence)
    elif plain.any() and len(ratios) < fewest_repeats((1.0 - confidence) / 2.0):
        low, high = 0.0, math.inf
    else:
        # A kernel that is missing has no place on a scale; it has one in a resample.
        drawn = _geometric_means(ratios[draw(len(ratios))])
        low, high = percentile_interval(drawn, len(ratios), confidence)
    return around(value, low, high)


def throughput_ratios(paired: PairedRuns, drawn: Draws) -> Floats:
    """The throughput ratio in each draw of the seeds, shape (draws,); NaN where it is undefined."""
    return _geometric_means(quotients(_finals(paired.reference), _finals(paired.challenger))[drawn])


def throughputs_gflops(runs: Sequence[Trajectory], drawn: Draws) -> Floats:
    """Geometric mean of the final throughput in each draw; 0 where a drawn run has no kernel."""
    return _geometric_means(np.array([run.run.flops / run.final_s / 1e9 for run in runs])[drawn])


def throughput_chance(paired: PairedRuns, limit: float, level: float) -> float:
    """Chance of a throughput ratio at most as large as seen, if the true one were the limit."""
    n, logs = len(paired.reference), log_latencies(paired)
    if logs is None:
        return 1.0
    logs[n:] += math.log(limit)
    by_labels = permutation_chance(lambda labels: slowdowns(logs, labels), n, n, level)
    if not swaps_tell(n, level):
        return by_labels
    by_swaps = chance_of_ranks(logs[n:] - logs[:n], *exchanges(n, level))
    return min(1.0, 2.0 * min(by_labels, by_swaps))


def throughput_spread(paired: PairedRuns) -> float | None:
    """Spread of the log throughput ratio per pair of runs; None if a winner has no latency."""
    ratios = _seed_ratios(paired)
    if len(ratios) < FEWEST_REPEATS or not np.isfinite(ratios).all() or not ratios.all():
        return None
    return float(np.log(ratios).std(ddof=1))


def all_below(paired: PairedRuns, limit: float) -> bool:
    """Whether the challenger's kernel is slower than a limit allows with each seed."""
    return bool((_seed_ratios(paired) < limit).all())


def log_latencies(paired: PairedRuns) -> Floats | None:
    """Logarithms of the final kernels' latencies, the reference's first, shape (2 * seeds,).

    One that is missing is slower than all others, but no more than so, that one more that is
    missing counts for more. None if there is no kernel at all, or a latency is not known (NaN).
    """
    latencies = _finals([*paired.reference, *paired.challenger])
    found = np.isfinite(latencies)
    if not found.any() or np.isnan(latencies).any():
        return None
    latencies[~found] = _LOST * latencies[found].max()
    logs: Floats = np.log(latencies)
    return logs


def _exact_interval(paired: PairedRuns, confidence: float) -> tuple[float, float]:
    """All ratios that the tests of `throughput_chance` do not reject.

    For each relabelling there is one ratio at which it looks as the labels as they are do, so the
    ends are order statistics of these ratios. Garthwaite 1996, https://doi.org/10.2307/2532852
    """
    n, tail = len(paired.reference), (1.0 - confidence) / 2.0
    logs = np.log(_finals([*paired.reference, *paired.challenger]))
    if not swaps_tell(n, tail):
        low, high = _ends(logs, *some_relabellings(n, n, tail), tail)
    else:
        by_labels = _ends(logs, *some_relabellings(n, n, tail / 2.0), tail / 2.0)
        faster = shift_interval(logs[:n] - logs[n:], *exchanges(n, tail / 2.0), tail / 2.0)
        low, high = max(by_labels[0], faster[0]), min(by_labels[1], faster[1])
    return math.exp(low), math.exp(high)


def _ends(logs: Floats, labels: Relabellings, complete: bool, tail: float) -> tuple[float, float]:
    """Ends of the interval of the log throughput ratio by relabelling."""
    n = len(logs) // 2
    slower, seen = slowdowns(logs, labels), logs[n:].mean() - logs[:n].mean()
    kept = left_in_place(labels).clip(-1.0, 1.0)
    differs = kept < 1.0
    alike = np.sort(-(seen - slower[differs]) / (1.0 - kept[differs]))
    # Labels that give back the same groups look as bad at any ratio, and so do those as they are.
    same = len(labels) - len(alike) + (not complete)
    total = len(labels) + (not complete)
    # An end is where the share of relabellings that look as bad gets above the tail.
    beyond = math.floor(tail * total * (1.0 + 1e-12)) - same
    if beyond < 0:
        return -math.inf, math.inf
    return float(alike[beyond]), float(alike[len(alike) - 1 - beyond])


def slowdowns(logs: Floats, labels: Relabellings) -> Floats:
    """Mean log latency of the second group less that of the first, shape (relabellings,)."""
    n = len(logs) // 2
    means: Floats = logs[labels[:, n:]].mean(axis=1) - logs[labels[:, :n]].mean(axis=1)
    return means


def left_in_place(labels: Relabellings) -> Floats:
    """The challenger's share in the second group, less that in the first, from -1 to 1."""
    n = labels.shape[1] // 2
    shares: Floats = (labels[:, n:] >= n).mean(axis=1) - (labels[:, :n] >= n).mean(axis=1)
    return shares


def _finals(runs: Sequence[Trajectory]) -> Floats:
    return np.array([run.final_s for run in runs])


def _seed_ratios(paired: PairedRuns) -> Floats:
    """Throughput ratio of each seed that has a kernel of either arm, shape (seeds,)."""
    reference, challenger = _finals(paired.reference), _finals(paired.challenger)
    known = np.isfinite(reference) | np.isfinite(challenger)
    return quotients(reference[known], challenger[known])


def _geometric_means(ratios: Floats) -> Floats:
    """Geometric mean of each row; NaN where 0 meets infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: Floats = np.exp(np.log(ratios).mean(axis=1))
    return means
