"""The reference, had it been stopped early: the cheapest rival."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pytest_ansorbench.stats.ert import expected_running_time
from pytest_ansorbench.stats.paired_runs import PairedRuns


@dataclass(frozen=True, slots=True)
class Truncation:
    """The reference, cut off at the time that the challenger takes to the target.

    Attributes:
        search_s: Where it is cut off, in seconds of search time.
        kept: Share of its search throughput that it has by then, geometric mean over the
            seeds; 0 if a run has no valid trial by then.
    """

    search_s: float
    kept: float


def truncate_reference(paired: PairedRuns) -> Truncation | None:
    """Cut the reference's runs off at the challenger's expected time to the target.

    A faster search is worth something only if stopping the slow one early is not as good.
    Throughput is that seen during the search, for no other kernel was measured again.

    Args:
        paired: The pairs of runs.

    Returns:
        The reference as cut off; None if the challenger never reached the target.
    """
    target_s = paired.target_s
    hits = [run.hit(target_s) for run in paired.challenger]
    cut_s = expected_running_time([hit.search_s for hit in hits], [hit.reached for hit in hits])
    if math.isinf(cut_s):
        return None
    kept = []
    for run in paired.reference:
        done = int(np.searchsorted(run.search_s[:-1], cut_s, side="right"))
        kept.append(run.best_s / float(run.latency_s[done - 1]) if done else 0.0)
    return Truncation(
        cut_s, math.exp(math.fsum(map(math.log, kept)) / len(kept)) if all(kept) else 0.0
    )
