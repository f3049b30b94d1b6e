"""Two arms on the way to the same places: what comparisons work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_ansorbench.stats.bootstrap import Draws
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.targets import fixed_target_s, fixed_targets_s
from pytest_ansorbench.stats.trajectory import Floats, Trajectory


@dataclass(frozen=True, slots=True, eq=False)
class PairedRuns:
    """The runs of two arms on a case, and how targets are chosen.

    Attributes:
        reference: The reference arm's runs, by seed.
        challenger: The challenger arm's, of the same seeds in the same order.
        goal: How the targets are chosen.
        tolerance: Throughput to concede in targets, a fraction in [0, 1).
        seconds_error: Half the width of the interval of the logarithm of a ratio in seconds that
            comes from runs of another day; see `recorded.Pace`.
    """

    reference: Sequence[Trajectory]
    challenger: Sequence[Trajectory]
    goal: Goal
    tolerance: float
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
