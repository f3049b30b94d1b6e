"""Searches over several tasks: budget, turns, records, and going on from a journal."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.strategies import (
    Evolution,
    ExploreThenCommit,
    Registry,
    Strategy,
    XGBoostModel,
)
from pytest_ansorbench.strategies.scheduling import RoundRobin
from pytest_ansorbench.workloads import Mlp
from tests.search.rounds import finished, run_of, searching, stepped
from tests.watching import Watched

CASE = Mlp(features=32, hidden=(16, 16), classes=8)  # its two 16-wide layers differ in input
RANDOM = Registry().get("random")


def search(engine, strategy=RANDOM, *, trials=12, round_trials=2, **options):
    return searching(CASE, strategy, engine, trials=trials, round_trials=round_trials, **options)


def test_every_task_has_a_round_before_any_has_two(unbuilding_engine):
    made = search(unbuilding_engine)
    tasks = len(made.tasks)
    stepped(made, tasks)
    assert [one.task for one in made.rounds] == list(range(tasks))
    assert made.estimated_s is not None


def test_the_budget_is_that_of_all_tasks_together(unbuilding_engine):
    made = search(unbuilding_engine, trials=9, round_trials=2)
    run = run_of(CASE, made, finished(made))
    assert len(run.trials) == 9
    assert run.stopped == ""
    assert sum(task.trials_done for task in made.tasks) == 9


def test_a_record_says_which_trial_is_of_which_task(unbuilding_engine):
    made = search(unbuilding_engine, trials=8, scheduler=RoundRobin())
    run = run_of(CASE, made, finished(made))
    assert [task.name for task in run.tasks] == [t.name for t in CASE.tasks()]
    for task, best in zip(made.tasks, run.best_trials, strict=True):
        assert task.best.index == best.index
        assert run.tasks[run.task_of(best)].name == task.task.name
    assert run.estimated_s == pytest.approx(made.estimated_s)
    assert made.best_gflops == pytest.approx(CASE.flops / run.estimated_s / 1e9)


def test_the_trajectory_is_that_of_the_estimate(unbuilding_engine):
    estimates = []
    made = search(
        unbuilding_engine,
        trials=12,
        on_trial=lambda at: estimates.append(at.estimated_s or math.inf),
    )
    trajectory = Trajectory.of(run_of(CASE, made, finished(made)))
    assert trajectory.best_s == pytest.approx(min(estimates))
    improvements = sorted({x for x in estimates if x < math.inf}, reverse=True)
    assert trajectory.latency_s.tolist() == pytest.approx(improvements)
    assert all(
        at == pytest.approx(estimates.index(value) + 1)
        for at, value in zip(trajectory.trials, improvements, strict=False)
    )


def test_tasks_share_the_cost_model_and_keep_their_own_policies(unbuilding_engine):
    small = {"population": 16, "min_unmeasured": 4, "generations": 1}
    watched = Watched(Evolution(ExploreThenCommit(0, 1), **small))
    strategy = Strategy("shared", proposer=watched, cost_model=XGBoostModel(warmup_samples=4))
    made = search(unbuilding_engine, strategy, trials=12)
    stepped(made, 4)
    setups = watched.setups
    assert len(setups) == len(made.tasks)
    assert len({id(setup.cost_model) for setup in setups}) == 1
    assert setups[0].cost_model.data_size == len(made.trials)
    assert len({id(setup.context) for setup in setups}) == len(setups)
    # A task's policy has seen that task's rounds alone.
    phases = {one.task: one.decisions["phase"] for one in made.rounds}
    assert set(phases.values()) == {"explore"}


@pytest.mark.parametrize(("name", "records"), [("random", 4), ("draft", 0)])
def test_who_does_not_read_the_database_has_no_record_in_it(unbuilding_engine, name, records):
    made = search(unbuilding_engine, Registry().get(name), trials=4)
    finished(made)
    assert len(made.trials) == 4
    assert len(made.tasks[0]._shared.database) == records


def test_a_search_goes_on_from_a_journal(unbuilding_engine):
    first = search(unbuilding_engine, trials=16)
    entries = stepped(first, 6)
    again = search(unbuilding_engine, trials=16, resumed=entries)
    assert list(again.rounds) == list(first.rounds)
    assert list(again.trials) == list(first.trials)
    assert again.estimated_s == pytest.approx(first.estimated_s)
    for one, other in zip(first.tasks, again.tasks, strict=True):
        assert other.best_s == one.best_s
        assert other.rng_state == one.rng_state
    first.step()
    again.step()
    assert first.rounds[-1].task == again.rounds[-1].task


@pytest.mark.parametrize("name", ["grid", "draft"])
def test_a_resumed_search_makes_no_design_space_before_it_is_due(unbuilding_engine, name):
    watched = Watched(Registry().get(name).proposer)
    strategy = replace(Registry().get(name), proposer=watched)
    entries = stepped(search(unbuilding_engine, strategy), 1)
    watched.started.clear()
    again = search(unbuilding_engine, strategy, resumed=entries)
    assert ["_space" in vars(one) for one in watched.started[:2]] == [True, False]
    stepped(again, 1)
    assert "_space" in vars(watched.started[1])


def test_rounds_of_another_task_are_refused(unbuilding_engine):
    import dataclasses

    [entry] = stepped(search(unbuilding_engine), 1)
    other = dataclasses.replace(entry, round=dataclasses.replace(entry.round, task=3))
    with pytest.raises(ResumeError, match=r"design space|cannot be rebuilt"):
        search(unbuilding_engine, resumed=[other])
