"""The latency that both arms have to reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_ansorbench.records import Run


def fixed_target_s(reference: Sequence[Run], tolerance: float) -> float:
    """The target of S: the reference's median final search throughput, less a tolerance.

        target throughput = median over the runs of best search throughput * (1 - tolerance)

    The median over many reference seeds makes a target which about half of them reach, as in
    AlgoPerf (https://arxiv.org/abs/2306.07179). A run without a valid trial counts as
    throughput 0.

    Args:
        reference: The reference arm's runs of one case, at least one.
        tolerance: Fraction of throughput to concede, in [0, 1).

    Returns:
        The target as latency in seconds; infinity if the median throughput is 0, so that any
        valid trial reaches it.
    """
    return relaxed_s(_median_latency_s([best_latency_s(run) for run in reference]), tolerance)


def own_targets_s(reference: Sequence[Run], tolerance: float) -> tuple[float, ...]:
    """The targets of S_paper: each reference run's own best, less a tolerance.

    Args:
        reference: The reference arm's runs of one case.
        tolerance: Fraction of throughput to concede, in [0, 1).

    Returns:
        One latency in seconds per run, in their order; infinity for a run without a valid
        trial.
    """
    return tuple(relaxed_s(best_latency_s(run), tolerance) for run in reference)


def best_latency_s(run: Run) -> float:
    """Latency of a run's best trial in seconds; infinity if no trial is valid."""
    best = run.best
    latency_s = best.latency_s if best else None
    return math.inf if latency_s is None else latency_s


def relaxed_s(latency_s: float, tolerance: float) -> float:
    """The latency at `(1 - tolerance)` times the throughput.

    Raises:
        ValueError: `tolerance` is not in [0, 1).
    """
    if not 0.0 <= tolerance < 1.0:
        raise ValueError(
            f"bad tolerance {tolerance!r}: expected a fraction from 0 to below 1, e.g. 0.01"
        )
    return latency_s / (1.0 - tolerance)


def _median_latency_s(latencies_s: Sequence[float]) -> float:
    """Latency of the median throughput."""
    ordered = sorted(latencies_s)
    faster, slower = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if faster == slower:
        # No detour through 1/x: rounding could put the target out of the median run's reach.
        return faster
    return 2.0 / (1.0 / faster + 1.0 / slower)
