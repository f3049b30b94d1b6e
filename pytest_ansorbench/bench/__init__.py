"""Many searches: pairs, order, seeds, interrupts."""

from pytest_ansorbench.bench.experiment import Experiment, Plan, UnsupportedCaseError
from pytest_ansorbench.bench.progress import Progress, Silent, Standing
from pytest_ansorbench.bench.session import Session

__all__ = [
    "Experiment",
    "Plan",
    "Progress",
    "Session",
    "Silent",
    "Standing",
    "UnsupportedCaseError",
]
