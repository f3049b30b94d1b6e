"""How a case is run and judged, as one frozen record."""

from __future__ import annotations

import math
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
        family: Over how many gates like its own the session's false alarms could be shared out.
        deadline_s: When the last repeat has to be over, by `time.monotonic`; the first of a case
            is run in any case.
    """

    runs: RunPlan
    repeats: RepeatPolicy
    criteria: Criteria
    limits: Limits
    family: int = 1
    deadline_s: float = math.inf
