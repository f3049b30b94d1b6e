"""Runs of another day in today's seconds, and how surely.

A recorded run stands in for a new one. The first round of each is run again with its seed, and
takes as long as today's machine takes for the same work. The geometric mean of these ratios, now
over then, turns recorded seconds into today's. Its error is an error of every ratio in seconds; a
ratio in trials knows no machine.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.records import Run
from pytest_ansorbench.stats.power import t_quantile

# A round that takes longer or shorter by more than this is another machine's
MOST_DRIFT: Final = 1.25
_CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Pace:
    """Today's seconds for the work of recorded runs."""

    ratio: float = 1.0  # today's seconds over recorded ones; 1 without recorded runs
    # Half the width of the interval of the logarithm of a ratio of search times that the
    # correction adds, in proportion to the share of runs that are recorded; 0 without
    error: float = 0.0

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Pace:
        logs = [math.log(drift(run)) for run in runs if run.recorded is not None]
        if not logs:
            return cls()
        most = math.log(MOST_DRIFT)
        half = most
        if len(logs) > 1:
            deviation = statistics.stdev(logs) / math.sqrt(len(logs))
            half = min(most, t_quantile(_CONFIDENCE, len(logs) - 1) * deviation)
        return cls(math.exp(statistics.fmean(logs)), half * len(logs) / len(runs))

    def of_run(self, run: Run) -> float:
        """Today's seconds over those of a run."""
        return 1.0 if run.recorded is None else self.ratio


def drift(run: Run) -> float:
    """Seconds of a recorded run's first round, now over then."""
    assert run.recorded is not None
    return run.recorded.first_round_s / run.rounds[0].search_s
