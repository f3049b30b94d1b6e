"""Expected running time: one number for runs of which some never get there."""

from __future__ import annotations

import math
from collections.abc import Sequence


def expected_running_time(spent: Sequence[float], reached: Sequence[bool]) -> float:
    """Expected spending until the target is reached, if one restarts until it is.

        ERT = (sum of what all runs spent, hits and misses) / (number of runs that reached)

    Averaging the hits alone would reward a search that gives up early on hard seeds.
    Hansen et al., COCO: https://numbbo.github.io/coco-doc/perf-assessment/

    Args:
        spent: Per run, what it spent until it reached the target, or in all if it never did;
            seconds or trials.
        reached: Per run, whether it reached the target.

    Returns:
        In the unit of `spent`; infinity if no run reached the target.
    """
    hits = sum(reached)
    return math.fsum(spent) / hits if hits else math.inf
