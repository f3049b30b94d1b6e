"""Arms side by side over the contests that all of them are in: ranks, distributions, profiles.

An arm that is missing in a contest has no rank there and gets none: such contests are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.bootstrap import draw, percentile_interval
from pytest_ansorbench.stats.compare import final_gflops
from pytest_ansorbench.stats.contests import Contest
from pytest_ansorbench.stats.estimates import around
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.ranks import mid_ranks
from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory

_TARGETS: Final = 50
_DIGITS: Final = 9  # to which shares of votes are told apart, sums in another order being equal
_SLACK: Final = 1e-12


def sooner(contest: Contest, gain: tuple[float, float], goal: Goal) -> Mapping[str, float]:
    """How often each arm is the sooner one, of all pairs of its runs with others' at all targets.

    Votes are those of S: a miss is later than any time, equal ones count half. The targets are the
    goal's, evenly spaced in throughput. An arm without an opponent has one half.
    """
    shares = np.linspace(goal.low, goal.high, 1 if goal.single else _TARGETS)
    targets_s = _latencies_s(contest, gain, shares, goal.gflops)
    costs = {arm: _costs(contest.runs_of(arm), targets_s, "search_s") for arm in contest.arms}
    won = {}
    for arm, own in costs.items():
        votes = [_earlier(own, other) for name, other in costs.items() if name != arm]
        won[arm] = float(np.mean(votes)) if votes else 0.5
    return won


def mean_ranks(scores: Sequence[Mapping[str, float]], confidence: float) -> Mapping[str, Estimate]:
    """Mean rank of each arm by its scores in several contests, the highest first.

    The interval is the expanded percentiles of the bootstrap over contests; one contest has none.
    """
    if not scores:
        return {}
    arms = sorted(scores[0])
    table = np.array(
        [mid_ranks(-np.round([of[arm] for arm in arms], _DIGITS)) for of in scores]
    )  # shape (contests, arms)
    resampled = table[draw(len(table))].mean(axis=1)
    found = {}
    for place, arm in enumerate(arms):
        mean = float(table[:, place].mean())
        ends = percentile_interval(resampled[:, place], len(table), confidence)
        found[arm] = around(mean, *ends)
    return found


def run_time_distribution(
    contests: Sequence[Contest],
    gains: Sequence[tuple[float, float]],
    arm: str,
    spending: Spending,
    at: Floats,
) -> Floats:
    """Share of pairs of contest and target that an arm's runs have reached after each spending.

    The empirical distribution of run times, as COCO aggregates it over problems and targets: Hansen
    et al. 2016, https://arxiv.org/abs/1605.03560. Targets are fifty shares of the gain,
    up to all of it. Each contest weighs the same, and so does each run of it. A run that ended is
    not started anew: what it missed stays missed.
    """
    shares = np.arange(1, _TARGETS + 1) / _TARGETS
    reached = np.zeros(len(at))
    for contest, gain in zip(contests, gains, strict=True):
        runs = contest.runs_of(arm)
        costs = np.sort(_costs(runs, _latencies_s(contest, gain, shares), spending), axis=None)
        reached += np.searchsorted(costs, at, side="right") / (costs.size * len(contests))
    return reached


def longest(contests: Sequence[Contest], spending: Spending) -> float:
    """The most that any run spent."""
    return max(
        float(entry.run.costs(spending)[-1])
        for contest in contests
        for entries in contest.arms.values()
        for entry in entries
    )


def throughputs(contest: Contest) -> Mapping[str, float]:
    """Final throughput in GFLOP/s of each arm and baseline; 0 where a winner has none."""
    searched = {arm: final_gflops(contest.runs_of(arm)) for arm in contest.arms}
    timed = {name: contest.flops / one / 1e9 for name, one in contest.baselines.items()}
    return {**timed, **searched}


def performance_profile(ratios: Sequence[float], at: Floats) -> Floats:
    """Share of contests in which kernels are at most so many times slower than the fastest.

    Dolan and Moré 2002, https://doi.org/10.1007/s101070100263. `ratios` are 1 where they are the
    fastest, and infinite where a run has no kernel: at infinity it is the share without such runs.
    """
    finite = np.sort([ratio for ratio in ratios if math.isfinite(ratio)])
    shares: Floats = np.searchsorted(finite, at, side="right") / len(ratios)
    return shares


def ratios_to_fastest(
    contests: Sequence[Contest], arms: Sequence[str]
) -> Mapping[str, Sequence[float]]:
    """How many times slower the final kernels of each are than the fastest, contest by contest.

    Of the arms, which are in all of them, and of baselines that are; infinity where a run has no
    kernel.
    """
    speeds = [throughputs(contest) for contest in contests]
    timed = sorted(set.intersection(*({*of} for of in speeds)) - {*arms}) if speeds else []
    names = [*arms, *timed] if speeds else []
    best = [max(of[name] for name in names) for of in speeds]
    return {
        name: [
            top / of[name] if of[name] else math.inf for of, top in zip(speeds, best, strict=True)
        ]
        for name in names
    }


def _latencies_s(
    contest: Contest, gain: tuple[float, float], shares: Floats, gflops: float | None = None
) -> Floats:
    if gflops is not None:
        return np.array([contest.flops / (gflops * 1e9)])
    start, end = gain
    with np.errstate(divide="ignore"):  # any kernel reaches a target of throughput 0
        latencies: Floats = (1.0 + _SLACK) / (start + shares * (end - start))
    return latencies


def _costs(runs: Sequence[Trajectory], targets_s: Floats, spending: Spending) -> Floats:
    """Cost until each target, infinity for a miss; shape (runs, targets)."""
    spent = [run.spent(targets_s, spending) for run in runs]
    return np.stack([np.where(reached > 0.0, cost, math.inf) for cost, reached in spent])


def _earlier(own: Floats, other: Floats) -> float:
    mine, theirs = own[:, np.newaxis], other[np.newaxis]
    return float(((mine < theirs) + 0.5 * (mine == theirs)).mean())
