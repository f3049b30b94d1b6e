"""How a case is run and judged, as one frozen record."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from pytest_ansorbench.bench.repeats import RepeatPolicy
from pytest_ansorbench.budget import Budget
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.stats.criteria import Criteria, Progress
from pytest_ansorbench.stats.limits import Limits


@dataclass(frozen=True)
class Plan:
    """How a case is run and judged."""

    runs: RunPlan  # how runs are made. What else is in a plan may change when an experiment goes on
    repeats: RepeatPolicy  # which repeats there are
    criteria: Criteria  # how runs are compared and judged
    limits: Limits  # the gates
    # Over how many gates like its own the session's false alarms could be shared out
    family: int = 1
    # When the last repeat has to be over, by `time.monotonic`; the first of a case is run in any
    # case
    deadline_s: float = math.inf


@dataclass(frozen=True)
class RunPlan:
    """How the runs of one repeat are made; the same for all repeats of a case."""

    budget: Budget  # trials of one run and of one round
    # Whether arms take turns by rounds or by whole runs
    order: Literal["interleaved", "sequential"]
    scheduler: str  # shares rounds out among the tasks of a network; a key of `SCHEDULERS`
    final: SideBySide  # how winners are measured against each other
    # Whether leads are measured again, so that progress is confirmed
    progress: Progress = "confirmed"

    def with_slices(self, slice_ms: float) -> RunPlan:
        """With final measurements in slices of another length; samples stay as they are."""
        if self.final.rest_ms:  # so are samples
            return self
        return replace(self, final=replace(self.final, slice_ms=slice_ms))

    def conditions(self, tasks: int) -> dict[str, Any]:
        """What of it decides the measurements, as JSON values."""
        return {
            "trials": self.budget.in_all(tasks),
            "round_trials": self.budget.a_round(tasks),
            "order": self.order,
            "scheduler": self.scheduler if tasks > 1 else "",
            **{f"final_{name}": value for name, value in self.final.conditions().items()},
            "progress": self.progress,
        }
