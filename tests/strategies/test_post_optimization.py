"""TVM's post-optimization as a strategy: its trials are counted, none is made twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import PostOptimization, RandomTraces, Strategy
from tests.search.rounds import finished, stepped
from tests.strategies.setups import FAMILIES


def searching(engine, *, trials=48, resumed=(), **parameters):
    case = FAMILIES["Conv2d"]
    strategy = Strategy("mine", proposer=PostOptimization(RandomTraces(), **parameters))
    tasks = [replace(task, check=None) for task in case.tasks()]
    return Search(
        case, tasks, strategy, engine, seed=3, budget_trials=trials, round_trials=8, resumed=resumed
    )


@pytest.fixture(scope="module")
def entries(unbuilding_engine):
    return finished(searching(unbuilding_engine))


def is_post(entry):
    return "post-optimization" in entry.round.decisions


def test_it_spends_half_of_the_budget_at_most_and_none_beyond(unbuilding_engine, entries):
    assert [is_post(entry) for entry in entries[:4]] == [False, False, False, True]
    assert 24 < sum(len(entry.trials) for entry in entries) <= 48


def test_a_resumed_descent_goes_on_as_if_nothing_had_happened(unbuilding_engine, entries):
    again = searching(unbuilding_engine, resumed=entries[:4])
    after = stepped(again, len(entries) - 4)
    assert [one.state.candidates for one in after] == [one.state.candidates for one in entries[4:]]
