"""Numbers only: time to target, ratios, intervals, gates. Records in, records out."""

from pytest_ansorbench.stats.arms import summarize_arm
from pytest_ansorbench.stats.bootstrap import RESAMPLES
from pytest_ansorbench.stats.compare import PairingError, compare
from pytest_ansorbench.stats.ert import expected_running_time
from pytest_ansorbench.stats.gate import Limits, judge
from pytest_ansorbench.stats.judge_case import judge_again, judge_case
from pytest_ansorbench.stats.summary import MeanRatio, geometric_mean
from pytest_ansorbench.stats.targets import fixed_target_s
from pytest_ansorbench.stats.trajectory import Hit, first_hit
from pytest_ansorbench.stats.wording import estimate_text, ratio_text

__all__ = [
    "RESAMPLES",
    "Hit",
    "Limits",
    "MeanRatio",
    "PairingError",
    "compare",
    "estimate_text",
    "expected_running_time",
    "first_hit",
    "fixed_target_s",
    "geometric_mean",
    "judge",
    "judge_again",
    "judge_case",
    "ratio_text",
    "summarize_arm",
]
