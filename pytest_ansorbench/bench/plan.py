"""How a case is run and judged, as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pytest_ansorbench.bench.repeats import RepeatPolicy
from pytest_ansorbench.budget import Budget
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.gate import Limits


@dataclass(frozen=True)
class RunPlan:
    """How the runs of one repeat are made; the same for all repeats of a case.

    Attributes:
        budget: Trials of one run and of one round.
        order: Whether arms take turns by rounds or by whole runs.
        scheduler: Shares rounds out among the tasks of a network; a key of `SCHEDULERS`.
        final_samples: Samples of each winner's final measurement.
    """

    budget: Budget
    order: Literal["interleaved", "sequential"]
    scheduler: str
    final_samples: int

    def conditions(self, tasks: int) -> dict[str, Any]:
        """What of it decides the measurements, as JSON values.

        Args:
            tasks: How many tasks the case has.
        """
        return {
            "trials": self.budget.in_all(tasks),
            "round_trials": self.budget.a_round(tasks),
            "order": self.order,
            "scheduler": self.scheduler if tasks > 1 else "",
            "final_samples": self.final_samples,
        }


@dataclass(frozen=True)
class Plan:
    """How a case is run and judged.

    Attributes:
        runs: How runs are made. What else is in a plan may change when an experiment goes on.
        repeats: Which repeats there are.
        criteria: How runs are compared and judged.
        limits: The gates.
        family: How many gates the session has.
    """

    runs: RunPlan
    repeats: RepeatPolicy
    criteria: Criteria
    limits: Limits
    family: int = 1
