"""What S counts the time to: the throughput that both arms have to reach."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from pytest_ansorbench.stats.trajectory import Floats, Trajectory

_SLACK: Final = 1e-12
"""Relative; the way from latency to throughput and back may round a target out of reach."""


@dataclass(frozen=True, slots=True)
class Goal:
    """How the fixed target is chosen; the default is the reference's median final throughput.

    Attributes:
        kind: `median`: of the reference's final throughput, less the tolerance. `gain`: a
            share of the way there from the reference's first kernel. `gflops`: a throughput.
        value: The share for `gain`, in (0, 1]; GFLOP/s for `gflops`.
    """

    kind: Literal["median", "gain", "gflops"] = "median"
    value: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Parse `median`, a share of the gain such as `90%`, or GFLOP/s such as `200`.

        Raises:
            ValueError: It is none of these.
        """
        word = text.strip()
        if word == "median":
            return cls()
        try:
            value = float(word.removesuffix("%"))
        except ValueError:
            value = math.nan
        if word.endswith("%") and 0.0 < value <= 100.0:
            return cls("gain", value / 100.0)
        if not word.endswith("%") and 0.0 < value < math.inf:
            return cls("gflops", value)
        raise ValueError(
            "expected median, a share of the reference's gain such as 90%, or GFLOP/s such as 200"
        )

    def __str__(self) -> str:
        """As `parse` reads it."""
        if self.kind == "median":
            return "median"
        return f"{100.0 * self.value:.12g}%" if self.kind == "gain" else repr(self.value)


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
    best_s = np.array([[each.best_s for each in reference]])
    first_s = np.array([[each.first_s for each in reference]])
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
    return tuple(each.best_s / (1.0 - tolerance) for each in reference)


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no fraction.

    Raises:
        ValueError: `tolerance` is not in [0, 1).
    """
    if not 0.0 <= tolerance < 1.0:
        raise ValueError(
            f"bad tolerance {tolerance!r}: expected a fraction from 0 to below 1, e.g. 0.01"
        )
