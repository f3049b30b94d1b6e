"""Many searches: pairs, order, seeds, interrupts, journals."""

from pytest_ansorbench.bench.arms import Arm
from pytest_ansorbench.bench.blocks import Block, Ended, Executor, Lost, Wrote
from pytest_ansorbench.bench.experiment import Experiment
from pytest_ansorbench.bench.history import CaseHistory, CaseJournal, case_histories
from pytest_ansorbench.bench.prepared import RunPlan
from pytest_ansorbench.bench.progress import Progress, ProgressUpdate, RunProgress, Silent
from pytest_ansorbench.bench.reference import SavedReference
from pytest_ansorbench.bench.repeats import FixedRepeats, Plan, RepeatsUntilSettled
from pytest_ansorbench.bench.session import Session, UnsupportedCaseError
from pytest_ansorbench.bench.site import LocalExecutor, Site
from pytest_ansorbench.bench.watching import Watch, WatchedCase, WatchedSession
from pytest_ansorbench.bench.yardsticks import YardstickPlan

__all__ = [
    "Arm",
    "Block",
    "CaseHistory",
    "CaseJournal",
    "Ended",
    "Executor",
    "Experiment",
    "FixedRepeats",
    "LocalExecutor",
    "Lost",
    "Plan",
    "Progress",
    "ProgressUpdate",
    "RepeatsUntilSettled",
    "RunPlan",
    "RunProgress",
    "SavedReference",
    "Session",
    "Silent",
    "Site",
    "UnsupportedCaseError",
    "Watch",
    "WatchedCase",
    "WatchedSession",
    "Wrote",
    "YardstickPlan",
    "case_histories",
]
