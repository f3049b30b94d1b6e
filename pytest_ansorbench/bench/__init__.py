"""Many searches: pairs, order, seeds, interrupts, journals."""

from pytest_ansorbench.bench.arms import Arm
from pytest_ansorbench.bench.blocks import Executor
from pytest_ansorbench.bench.prepared import RunPlan
from pytest_ansorbench.bench.progress import Progress, Silent
from pytest_ansorbench.bench.reference import SavedReference
from pytest_ansorbench.bench.repeats import FixedRepeats, Plan, RepeatsUntilSettled
from pytest_ansorbench.bench.session import Session, UnsupportedCaseError
from pytest_ansorbench.bench.site import LocalExecutor, Site
from pytest_ansorbench.bench.watching import Watch
from pytest_ansorbench.bench.yardsticks import YardstickPlan, taking_turns

__all__ = [
    "Arm",
    "Executor",
    "FixedRepeats",
    "LocalExecutor",
    "Plan",
    "Progress",
    "RepeatsUntilSettled",
    "RunPlan",
    "SavedReference",
    "Session",
    "Silent",
    "Site",
    "UnsupportedCaseError",
    "Watch",
    "YardstickPlan",
    "taking_turns",
]
