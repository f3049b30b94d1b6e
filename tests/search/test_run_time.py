"""Runs that their search clock ends: when, by how much they go beyond it, and what they plan."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pytest_ansorbench.budget import UNLIMITED_TRIALS
from pytest_ansorbench.strategies import Registry, StockEvolution, Strategy, XGBoostModel
from pytest_ansorbench.strategies.scheduling import SCHEDULERS
from pytest_ansorbench.workloads import Mlp
from tests.faults import Doubling
from tests.paced import PacedEngine
from tests.proposers import scripted
from tests.search.rounds import finished, run_of, searching, stepped
from tests.strategies.setups import MATMUL
from tests.watching import Watched

MLP = Mlp(features=32, hidden=(16, 16), classes=8)
RANDOM = Registry().get("random")
STOCK = Strategy(
    "stock",
    proposer=StockEvolution(population=32, generations=1, min_unmeasured=8),
    cost_model=XGBoostModel(),
)


@pytest.fixture
def paced(target, monkeypatch):
    """Makes engines on which a trial takes so many seconds, and nothing else any."""
    return lambda trial_s: PacedEngine(target, trial_s, monkeypatch)


def search(engine, run_time_s, *, case=MATMUL, strategy=RANDOM, **options):
    options = {"trials": UNLIMITED_TRIALS, "round_trials": 4, **options}
    return searching(case, strategy, engine, run_time_s=run_time_s, **options)


@pytest.mark.parametrize("trial_s", [0.25, 0.3, 1.0, 2.5])
def test_a_run_ends_by_its_clock_with_less_than_a_trial_to_spare(paced, trial_s):
    made = search(paced(trial_s), 5.0)
    run = run_of(MATMUL, made, finished(made))
    assert sum(one.search_s for one in run.rounds[:-1]) < 5.0 <= run.search_s
    # The first round has no pace to go by; the last has as many trials as the time is good for.
    assert run.search_s < 5.0 + max(trial_s, 4 * trial_s - 5.0) + 1e-9
    assert run.stopped == ""
    made.step()  # does nothing
    assert len(made.trials) == len(run.trials)


def test_a_round_under_way_is_finished_even_if_it_is_the_first(paced):
    made = search(paced(10.0), 1.0)
    [entry] = finished(made)
    assert len(entry.trials) == 4 and made.search_s == 40.0


def test_time_is_left_for_every_task(paced):
    made = search(paced(1.0), 12.0, case=MLP, round_trials=8)
    entries = finished(made)
    assert {one.task for one in made.rounds} == {*range(len(MLP.tasks()))}
    assert [len(one.trials) for one in entries][:2] == [8, math.ceil(4 / (len(MLP.tasks()) - 1))]


def test_trials_that_slow_down_cost_one_round_at_most(paced):
    engine = paced(0.1)
    made = search(engine, 2.0, round_trials=8)
    stepped(made, 2)
    engine.trial_s = 1.0
    entries = finished(made)
    assert len(entries) == 1 and len(entries[0].trials) == 4
    assert made.search_s == pytest.approx(1.6 + 4.0)


@pytest.mark.parametrize(
    ("trials", "run_time_s", "done"), [(6, 100.0, 6), (100, 6.0, 6), (6, 6.0, 6), (3, 0.5, 3)]
)
def test_of_two_limits_the_first_counts(paced, trials, run_time_s, done):
    made = search(paced(1.0), run_time_s, trials=trials)
    finished(made)
    assert len(made.trials) == done


def test_a_slow_strategy_gets_fewer_trials_in_the_same_time(paced):
    fast, slow = (search(paced(trial_s), 6.0) for trial_s in (0.25, 1.0))
    for made in (fast, slow):
        finished(made)
    assert (len(fast.trials), len(slow.trials)) == (24, 6)
    assert fast.search_s == pytest.approx(slow.search_s)


@pytest.mark.parametrize("behind", [1, 2, 3])
def test_a_resumed_run_goes_on_with_its_clock(paced, behind):
    first = search(paced(0.5), 7.0)
    entries = finished(first)
    again = search(paced(0.5), 7.0, resumed=entries[:behind])
    assert again.search_s == sum(entry.round.search_s for entry in entries[:behind])
    rest = finished(again)
    assert [len(one.trials) for one in [*entries[:behind], *rest]] == [4, 4, 4, 2]


def test_a_run_whose_time_was_over_is_not_gone_on_with(paced):
    entries = finished(search(paced(0.3), 5.0))
    assert search(paced(0.3), 5.0, resumed=entries).finished
    assert not search(paced(0.3), 9.0, resumed=entries).finished


@pytest.mark.parametrize("strategy", [RANDOM, STOCK], ids=lambda strategy: strategy.name)
def test_what_it_plans_for_ends_no_strategy(paced, strategy):
    watched = Watched(strategy.proposer)
    made = search(paced(0.25), 3.0, strategy=dataclasses.replace(strategy, proposer=watched))
    entries = finished(made)
    [setup] = watched.setups
    assert (setup.budget_trials, setup.run_time_s) == (6, 3.0)
    assert len(made.trials) == 12 and not any(entry.stopped for entry in entries)


def test_a_strategy_that_stops_before_says_why(paced):
    made = search(paced(1.0), 60.0, case=Doubling(), strategy=scripted(("fine",), None))
    run = run_of(Doubling(), made, finished(made))
    assert (run.stopped, run.run_time_s) == ("the strategy proposes nothing more", 60.0)
    assert run.search_s == 1.0


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_tasks_share_one_clock(paced, scheduler):
    made = search(paced(0.5), 12.0, case=MLP, round_trials=2, scheduler=SCHEDULERS[scheduler])
    run = run_of(MLP, made, finished(made))
    assert len(run.trials) == 24 and run.search_s == 12.0 and run.stopped == ""
    assert {one.task for one in run.rounds} == set(range(len(MLP.tasks())))


def test_a_network_may_end_before_each_task_has_a_round(paced):
    made = search(paced(1.0), 3.0, case=MLP, round_trials=2)
    run = run_of(MLP, made, finished(made))
    assert [one.task for one in run.rounds] == [0, 1]
    assert run.estimated_s is None and run.stopped == ""


def test_the_share_that_is_spent_is_told_in_the_middle_of_a_round(paced):
    told = []
    made = search(paced(1.0), 8.0, on_trial=lambda one: told.append(one.spent))
    finished(made)
    assert told == [place / 8 for place in range(1, 9)]
