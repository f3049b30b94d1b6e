"""What is known of the time that is left."""

from __future__ import annotations

import dataclasses
import math

from pytest_ansorbench.bench.prepared import PreparedCase
from pytest_ansorbench.bench.progress import ProgressUpdate, RunProgress
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import BatchMatmul, Mlp
from tests.bench.test_leads import searched
from tests.fast_engine import FastEngine

MLP = Mlp(features=16, hidden=(8, 8), classes=4)

UPDATE = ProgressUpdate(
    case="doubling",
    run=RunProgress("etc", trials=7, spent=7 / 16, best_gflops=12.34, search_s=9.0),
    repeat=2,
    repeats=3,
    settled=(0, 0),
    runs_done=25,
    runs_total=100,
    elapsed_s=50.0,
)


def test_the_pace_so_far_is_kept_up():
    assert UPDATE.remaining_s == 150.0
    assert dataclasses.replace(UPDATE, runs_done=100).remaining_s == 0.0


def test_what_was_checked_before_the_first_trial_is_no_pace():
    assert dataclasses.replace(UPDATE, first=(5, 10.0)).remaining_s == 150.0
    assert dataclasses.replace(UPDATE, first=(0, 40.0)).remaining_s == 30.0


def test_without_a_trial_there_is_no_pace():
    assert dataclasses.replace(UPDATE, runs_done=0).remaining_s == math.inf
    assert dataclasses.replace(UPDATE, first=(25, 50.0)).remaining_s == math.inf
    assert dataclasses.replace(UPDATE, first=(25, 50.0), runs_total=25).remaining_s == 0.0


def progress_of(case, engine):
    """What a search tells after each of its trials."""
    told = []
    prepared = PreparedCase(case, case.tasks())
    with engine:
        searched(
            engine,
            [Registry().get("random")],
            prepared,
            trials=2 * len(prepared.tasks),
            round_trials=2,
            on_trial=lambda search: told.append(RunProgress.of(search)),
        )
    return told


def test_of_a_network_the_task_under_way_and_an_estimate_are_told(target):
    told = progress_of(MLP, FastEngine(target, compiles=False))
    tasks = MLP.tasks()
    names = [f"{place}/{len(tasks)} {task.name}" for place, task in enumerate(tasks, 1)]
    assert [one.task for one in told[::2]] == [one.task for one in told[1::2]] == names
    assert [one.trials for one in told] == [*range(1, 2 * len(tasks) + 1)]
    assert told[1].estimated_s is None and told[-1].estimated_s > 0.0


def test_of_an_operator_they_are_not(target):
    case = BatchMatmul(batch=1, m=16, n=16, k=16)
    told = progress_of(case, FastEngine(target, compiles=False))
    assert [(one.task, one.estimated_s) for one in told] == [("", None)] * 2
