"""Two arms on the way to the same places: what comparisons work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.criteria import check_tolerance
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.trajectory import Floats, Trajectory


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """The runs of two arms on a case, and how targets are chosen."""

    reference: Sequence[Trajectory]  # the reference arm's runs, by seed
    challenger: Sequence[Trajectory]  # the challenger arm's, of the same seeds in the same order
    goal: Goal  # how the targets are chosen
    tolerance: float  # throughput to concede in targets, a fraction in [0, 1)
    # Half the width of the interval of the logarithm of a ratio in seconds that comes from runs
    # of another day; see `recorded.Pace`
    seconds_error: float = 0.0

    def first(self, repeats: int) -> PairedRuns:
        """The paired of the first seeds alone."""
        return replace(
            self, reference=self.reference[:repeats], challenger=self.challenger[:repeats]
        )

    @property
    def flops(self) -> int:
        """Floating-point operations of a kernel call."""
        return self.reference[0].run.flops

    @property
    def target_s(self) -> float:
        """The goal's one target, as latency in seconds."""
        return fixed_target_s(
            self.reference, self.goal.target, tolerance=self.tolerance, flops=self.flops
        )

    def targets_s(self, drawn: Draws) -> Floats:
        """The one target of each draw of reference runs, shape (draws,)."""
        best_s = np.array([run.best_s for run in self.reference])
        first_s = np.array([run.first_s for run in self.reference])
        return fixed_targets_s(
            self.goal.target,
            best_s[drawn],
            first_s[drawn],
            tolerance=self.tolerance,
            flops=self.flops,
        )


# Relative; the way from latency to throughput and back may round a target out of reach
_SLACK: Final = 1e-12


def fixed_targets_s(
    goal: Goal, best_s: Floats, first_s: Floats, *, tolerance: float, flops: int
) -> Floats:
    """The fixed target of S for each of m draws of n reference runs.

        target throughput = median over the runs of best search throughput * (1 - tolerance)

    The median over many reference seeds makes a target which about half of them reach, as in
    AlgoPerf (https://arxiv.org/abs/2306.07179). A `gain` of p ends that much earlier:

        first + p * (target - first), with `first` the median throughput of first valid trials

    A run without a valid trial counts as throughput 0.

    Returns: Targets as latencies in seconds, shape (m,); infinity where the throughput is 0, so
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
    """`fixed_targets_s` of the reference arm as it is."""
    check_tolerance(tolerance)
    best_s = np.array([[run.best_s for run in reference]])
    first_s = np.array([[run.first_s for run in reference]])
    return float(fixed_targets_s(goal, best_s, first_s, tolerance=tolerance, flops=flops)[0])


def own_targets_s(reference: Sequence[Trajectory], tolerance: float) -> tuple[float, ...]:
    """The targets of S_paper: each reference run's own best, less a tolerance.

    Returns: One latency in seconds per run, in their order; infinity for a run without a valid
    trial.
    """
    check_tolerance(tolerance)
    return tuple(run.best_s / (1.0 - tolerance) for run in reference)
