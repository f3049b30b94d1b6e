"""Numbers only: time to target, ratios, intervals, gates. Records in, records out."""

from pytest_ansorbench.stats.arms import summarize_arm
from pytest_ansorbench.stats.bootstrap import RESAMPLES
from pytest_ansorbench.stats.changes import (
    Allowance,
    CaseChanges,
    Change,
    case_changes,
    gates_per_case,
)
from pytest_ansorbench.stats.compare import PairingError, case_race, compare, race_of
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import Milestone, milestones
from pytest_ansorbench.stats.ert import expected_running_time
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Limits
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.judge_case import judge_arms, judge_result
from pytest_ansorbench.stats.running_time_ratio import Race
from pytest_ansorbench.stats.summary import MeanRatio, geometric_mean
from pytest_ansorbench.stats.trajectory import Hit, Trajectory
from pytest_ansorbench.stats.truncation import Truncation, truncate_reference
from pytest_ansorbench.stats.wording import estimate_text, percent, ratio_text, repeats_text

__all__ = [
    "FIGURES",
    "RESAMPLES",
    "Allowance",
    "CaseChanges",
    "Change",
    "Criteria",
    "Goal",
    "Hit",
    "Limits",
    "MeanRatio",
    "Milestone",
    "PairingError",
    "Race",
    "Trajectory",
    "Truncation",
    "case_changes",
    "case_race",
    "compare",
    "estimate_text",
    "expected_running_time",
    "gates_per_case",
    "geometric_mean",
    "judge_arms",
    "judge_result",
    "milestones",
    "percent",
    "race_of",
    "ratio_text",
    "repeats_text",
    "summarize_arm",
    "truncate_reference",
]
