"""How the runs of a repeat are made: all that a repeat has to be told besides its case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pytest_ansorbench.budget import Budget
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.stats.criteria import Progress


@dataclass(frozen=True)
class RunPlan:
    """How the runs of one repeat are made; the same for all repeats of a case.

    Attributes:
        budget: Trials of one run and of one round.
        order: Whether arms take turns by rounds or by whole runs.
        scheduler: Shares rounds out among the tasks of a network; a key of `SCHEDULERS`.
        final: How winners are measured against each other.
        progress: Whether leads are measured again, so that progress is confirmed.
    """

    budget: Budget
    order: Literal["interleaved", "sequential"]
    scheduler: str
    final: SideBySide
    progress: Progress = "confirmed"

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
            **{f"final_{name}": value for name, value in self.final.conditions().items()},
            "progress": self.progress,
        }
