"""Searches over several tasks: budget, turns, records, and going on from a journal."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.search import ResumeError, Search
from pytest_ansorbench.search.scheduling import RoundRobin
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.strategies import (
    Evolution,
    ExploreThenCommit,
    Registry,
    Strategy,
    XGBoostModel,
)
from pytest_ansorbench.workloads import Mlp
from tests.search.rounds import stepped

CASE = Mlp(features=32, hidden=(16, 16), classes=8)  # its two 16-wide layers differ in input
RANDOM = Registry().get("random")


def search(engine, strategy=RANDOM, *, trials=12, round_trials=2, **options):
    return Search(
        CASE,
        CASE.tasks(),
        strategy,
        engine,
        seed=1,
        budget_trials=trials,
        round_trials=round_trials,
        **options,
    )


def test_every_task_has_a_round_before_any_has_two(engine):
    each = search(engine)
    tasks = len(each.tasks)
    stepped(each, tasks)
    assert [entry.task for entry in each.record().rounds] == list(range(tasks))
    assert each.estimated_s is not None


def test_the_budget_is_that_of_all_tasks_together(engine):
    each = search(engine, trials=9, round_trials=2)
    while not each.finished:
        each.step()
    run = each.record()
    assert len(run.trials) == 9
    assert run.stopped == ""
    assert sum(task.trials_done for task in each.tasks) == 9


def test_a_record_says_which_trial_is_of_which_task(engine):
    each = search(engine, trials=8, scheduler=RoundRobin())
    while not each.finished:
        each.step()
    run = each.record()
    assert [task.name for task in run.tasks] == [t.name for t in CASE.tasks()]
    for task, best in zip(each.tasks, run.best_trials, strict=True):
        assert task.best.index == best.index
        assert run.tasks[run.task_of(best)].name == task.task.name
    assert run.estimated_s == pytest.approx(each.estimated_s)
    assert each.best_gflops == pytest.approx(CASE.flops / run.estimated_s / 1e9)


def test_the_trajectory_is_that_of_the_estimate(engine):
    each = search(engine, trials=12)
    estimates = []
    each._on_trial = lambda at: estimates.append(at.estimated_s or math.inf)
    while not each.finished:
        each.step()
    trajectory = Trajectory.of(each.record())
    assert trajectory.best_s == pytest.approx(min(estimates))
    improvements = sorted({x for x in estimates if x < math.inf}, reverse=True)
    assert trajectory.latency_s.tolist() == pytest.approx(improvements)
    assert all(
        at == pytest.approx(estimates.index(value) + 1)
        for at, value in zip(trajectory.trials, improvements, strict=False)
    )


def test_tasks_share_the_cost_model_and_keep_their_own_policies(engine):
    small = {"population": 32, "min_unmeasured": 4, "generations": 1}
    strategy = Strategy(
        "shared",
        proposer=Evolution(ExploreThenCommit(0, 1), **small),
        cost_model=XGBoostModel(warmup_samples=4),
    )
    each = search(engine, strategy, trials=12)
    stepped(each, 4)
    models = {id(task._shared.cost_model) for task in each.tasks}
    assert len(models) == 1
    assert each.tasks[0]._shared.cost_model.data_size == each.trials_done
    choosers = [task._proposer.proposer._sketch_chooser for task in each.tasks]
    assert len(set(map(id, choosers))) == len(choosers)


def test_a_search_goes_on_from_a_journal(engine):
    first = search(engine, trials=16)
    entries = stepped(first, 6)
    again = search(engine, trials=16, resumed=entries)
    assert again.record() == first.record()
    assert again.estimated_s == pytest.approx(first.estimated_s)
    for one, other in zip(first.tasks, again.tasks, strict=True):
        assert other.best_s == one.best_s
        assert other.rng_state == one.rng_state
    first.step()
    again.step()
    assert first.record().rounds[-1].task == again.record().rounds[-1].task


def test_rounds_of_another_task_are_refused(engine):
    import dataclasses

    [entry] = stepped(search(engine), 1)
    other = dataclasses.replace(entry, round=dataclasses.replace(entry.round, task=3))
    with pytest.raises(ResumeError, match=r"design space|cannot be rebuilt"):
        search(engine, resumed=[other])
