"""TVM's post-optimization as a strategy: its trials are counted, none is made twice."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pytest_ansorbench.strategies import PostOptimization, RandomTraces, Strategy, StrategyError
from tests.search.rounds import finished, searching, stepped
from tests.strategies.setups import FAMILIES, unchecked_tasks


def search(engine, *, first=RandomTraces(), **options):  # noqa: B008 - frozen
    case = FAMILIES["Conv2d"]
    strategy, tasks = Strategy("mine", proposer=PostOptimization(first)), unchecked_tasks(case)
    budget = {"trials": 48, "round_trials": 8}
    return searching(case, strategy, engine, tasks=tasks, seed=3, **budget, **options)


@dataclass(frozen=True)
class Pausing:
    """Draws programs for two rounds, then has nothing once."""

    nothing: list | None

    def start(self, setup):
        return _Pausing(RandomTraces().start(setup), self.nothing)


class _Pausing:
    def __init__(self, drawing, nothing):
        self._drawing, self._nothing = drawing, nothing
        self._rounds, self._paused = 0, False

    def propose(self, trials):
        if self._rounds == 2 and not self._paused:
            self._paused = True
            return self._nothing
        return self._drawing.propose(trials)

    def recall(self, candidates):
        self._paused = len(candidates) > 16
        self._drawing.recall(candidates)

    def learn(self, batch):
        self._rounds += 1
        self._drawing.learn(batch)

    def decisions(self):
        return {}


@pytest.fixture(scope="module")
def entries(unbuilding_engine):
    return finished(search(unbuilding_engine))


def is_post(entry):
    return "post-optimization" in entry.round.decisions


def test_it_spends_half_of_the_budget_at_most_and_none_beyond(unbuilding_engine, entries):
    assert [is_post(entry) for entry in entries[:4]] == [False, False, False, True]
    assert 24 < sum(len(entry.trials) for entry in entries) <= 48


def test_a_run_time_is_refused(unbuilding_engine):
    with pytest.raises(StrategyError, match=r"bad run time 60 s: .* expected a budget of trials"):
        search(unbuilding_engine, run_time_s=60.0)


def test_a_resumed_descent_goes_on_as_if_nothing_had_happened(unbuilding_engine, entries):
    again = search(unbuilding_engine, resumed=entries[:4])
    after = stepped(again, len(entries) - 4)
    assert [one.state.candidates for one in after] == [one.state.candidates for one in entries[4:]]


@pytest.mark.parametrize("nothing", [None, []])
def test_a_search_that_finds_nothing_more_is_followed_by_the_descent(unbuilding_engine, nothing):
    first = Pausing(nothing)
    entries = stepped(search(unbuilding_engine, first=first), 4)
    assert [is_post(entry) for entry in entries] == [False, False, True, True]
    [after] = stepped(search(unbuilding_engine, first=first, resumed=entries[:3]), 1)
    assert after.state.candidates == entries[3].state.candidates
