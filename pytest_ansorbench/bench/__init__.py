"""Many searches: pairs, order, seeds, interrupts, journals."""

from pytest_ansorbench.bench.experiment import Experiment, Plan
from pytest_ansorbench.bench.history import CaseHistory, CaseJournal, case_histories
from pytest_ansorbench.bench.progress import Progress, Silent, Standing
from pytest_ansorbench.bench.replay import MissingRunsError, Replay
from pytest_ansorbench.bench.session import Session, UnsupportedCaseError

__all__ = [
    "CaseHistory",
    "CaseJournal",
    "Experiment",
    "MissingRunsError",
    "Plan",
    "Progress",
    "Replay",
    "Session",
    "Silent",
    "Standing",
    "UnsupportedCaseError",
    "case_histories",
]
