"""What is known of the time that is left."""

from __future__ import annotations

import dataclasses
import math

from pytest_ansorbench.bench.progress import ProgressUpdate, RunProgress

UPDATE = ProgressUpdate(
    case="doubling",
    run=RunProgress("etc", trials=7, budget_trials=16, best_gflops=12.34, search_s=9.0),
    repeat=2,
    repeats=3,
    settled=(0, 0),
    trials_done=25,
    trials_total=100,
    elapsed_s=50.0,
)


def test_the_pace_so_far_is_kept_up():
    assert UPDATE.remaining_s == 150.0
    assert dataclasses.replace(UPDATE, trials_done=100).remaining_s == 0.0


def test_without_a_trial_there_is_no_pace():
    assert dataclasses.replace(UPDATE, trials_done=0).remaining_s == math.inf
