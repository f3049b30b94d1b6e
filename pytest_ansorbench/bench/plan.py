"""How a case is run and judged, as one frozen record."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ansorbench.bench.repeats import RepeatPolicy
from pytest_ansorbench.bench.run_plan import RunPlan
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Limits


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
