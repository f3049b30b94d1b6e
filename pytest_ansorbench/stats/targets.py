"""The targets that search time is counted to, as latencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pytest_ansorbench.stats.criteria import check_tolerance
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.trajectory import Floats, Trajectory

_SLACK: Final = 1e-12
"""Relative; the way from latency to throughput and back may round a target out of reach."""


def fixed_targets_s(
    goal: Goal, best_s: Floats, first_s: Floats, *, tolerance: float, flops: int
) -> Floats:
    """The fixed target of S for each of m draws of n reference runs.

        target throughput = median over the runs of best search throughput * (1 - tolerance)

    The median over many reference seeds makes a target which about half of them reach, as in
    AlgoPerf (https://arxiv.org/abs/2306.07179). A `gain` of p ends that much earlier:

        first + p * (target - first), with `first` the median throughput of first valid trials

    A run without a valid trial counts as throughput 0.

    Args:
        goal: How the target is chosen.
        best_s: Latency of each reference run's best trial, shape (m, n); infinity for none.
        first_s: Latency of its first valid trial, same shape.
        tolerance: Fraction of throughput to concede, in [0, 1).
        flops: Floating-point operations of a call, for a goal in GFLOP/s.

    Returns:
        Targets as latencies in seconds, shape (m,); infinity where the throughput is 0, so
        that any valid trial reaches it.
    """
    if goal.kind == "gflops":
        return np.full(len(best_s), flops / (goal.value * 1e9))
    throughput = np.median(1.0 / best_s, axis=1) * (1.0 - tolerance)
    if goal.kind == "gain":
        first = np.minimum(np.median(1.0 / first_s, axis=1), throughput)
        throughput = first + goal.value * (throughput - first)
    with np.errstate(divide="ignore"):
        targets: Floats = (1.0 + _SLACK) / throughput
    return targets


def fixed_target_s(
    reference: Sequence[Trajectory], goal: Goal, *, tolerance: float, flops: int
) -> float:
    """`fixed_targets_s` of the reference arm as it is.

    Raises:
        ValueError: `tolerance` is not in [0, 1).
    """
    check_tolerance(tolerance)
    best_s = np.array([[run.best_s for run in reference]])
    first_s = np.array([[run.first_s for run in reference]])
    return float(fixed_targets_s(goal, best_s, first_s, tolerance=tolerance, flops=flops)[0])


def own_targets_s(reference: Sequence[Trajectory], tolerance: float) -> tuple[float, ...]:
    """The targets of S_paper: each reference run's own best, less a tolerance.

    Args:
        reference: The reference arm's runs of one case.
        tolerance: Fraction of throughput to concede, in [0, 1).

    Returns:
        One latency in seconds per run, in their order; infinity for a run without a valid
        trial.

    Raises:
        ValueError: `tolerance` is not in [0, 1).
    """
    check_tolerance(tolerance)
    return tuple(run.best_s / (1.0 - tolerance) for run in reference)
