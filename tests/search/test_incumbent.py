"""Searches under a policy that compares: whose process is kept, and for how long."""

from __future__ import annotations

import dataclasses

import psutil
import pytest

from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.strategies import NoModel, PairedMeasurement, RandomTraces, Strategy
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.proposers import scripted
from tests.search.rounds import finished, searching, stepped
from tests.strategies.setups import MATMUL

PAIRED = dataclasses.replace(
    scripted(("fine", "fine"), ("fine",), ("fine",)), measurement=PairedMeasurement()
)
RANDOM = Strategy(
    "random", proposer=RandomTraces(), cost_model=NoModel(), measurement=PairedMeasurement()
)


class Keeping(FastEngine):
    """Notes incumbents, what it builds, and what is still held; may lose incumbents."""

    def __init__(self, target, *, loses=False):
        super().__init__(target, compiles=False)
        self.loses = loses
        self.incumbents: list[Built | None] = []
        self.held: list[Built] = []
        self.batches: list[int] = []

    def build(self, programs, check, limit_s=None):
        self.batches.append(len(programs))
        return super().build(programs, check, limit_s)

    def run(self, built, measurement, *, best_s=None, incumbent=None):
        self.incumbents.append(incumbent)
        given = None if self.loses else incumbent
        outcome = super().run(built, measurement, best_s=best_s, incumbent=given)
        if outcome.kept is not None:
            self.held.append(outcome.kept)
        return dataclasses.replace(outcome, lost_incumbent=self.loses and incumbent is not None)

    def discard(self, built):
        self.held = [held for held in self.held if held is not built]


def test_the_incumbent_is_the_best_so_far(target):
    with Keeping(target) as engine:
        made = searching(MATMUL, RANDOM, engine, trials=12, round_trials=6)
        stepped(made, 1)
        assert len(engine.held) == 1
        finished(made)
    assert engine.held == []
    assert engine.batches == [6, 6]
    best_s = None
    for trial, incumbent in zip(made.trials, engine.incumbents, strict=True):
        held_s = incumbent.handle.first_call() if incumbent else None
        assert held_s == pytest.approx(best_s) if best_s else held_s is None
        best_s = min(best_s or trial.latency_s, trial.latency_s)
    improved = [one for one in engine.incumbents if one is not None]
    assert improved and engine.incumbents[0] is None


def test_after_an_interruption_the_incumbent_is_built_again_on_the_clock(target):
    with Keeping(target) as engine:
        made = searching(MATMUL, RANDOM, engine, trials=12, round_trials=6)
        entries = stepped(made, 1)
        made.close()
        assert engine.held == []
        engine.batches.clear()
        again = searching(MATMUL, RANDOM, engine, trials=12, round_trials=6, resumed=entries)
        assert engine.batches == []
        finished(again)
    assert engine.batches == [6, 1]
    assert again.rounds[1].build_s > 0
    assert None not in engine.incumbents[6:]


def test_a_lost_incumbent_is_built_again_but_not_for_ever(target):
    with Keeping(target, loses=True) as engine:
        rounds = tuple(("fine",) for _ in range(8))
        strategy = dataclasses.replace(scripted(*rounds), measurement=PairedMeasurement())
        made = searching(Doubling(), strategy, engine, trials=8, round_trials=1)
        finished(made)
    assert [trial.status for trial in made.trials] == ["ok"] * 8
    assert engine.batches == [1, 1, *[1, 1] * 3, *[1] * 3]
    assert [one is not None for one in engine.incumbents] == [False, *[True] * 4, *[False] * 3]


def test_a_policy_that_compares_nothing_keeps_nothing(target):
    with Keeping(target) as engine:
        strategy = scripted(("fine",), ("fine",))
        made = searching(Doubling(), strategy, engine, trials=2, round_trials=1)
        entries = stepped(made, 1)
        again = searching(Doubling(), strategy, engine, trials=2, round_trials=1, resumed=entries)
        finished(again)
    assert engine.batches == [1, 1]
    assert set(engine.incumbents) == {None}


def test_a_process_is_kept_replaced_and_let_go(engine):
    made = searching(Doubling(), PAIRED, engine, trials=4, round_trials=2)
    stepped(made, 1)
    [process] = psutil.Process(engine.server_pid).children()
    process.kill()
    finished(made)
    assert [trial.status for trial in made.trials] == ["ok"] * 4
    assert not psutil.Process(engine.server_pid).children()


def test_a_search_that_is_given_up_lets_its_processes_go(engine):
    made = searching(Doubling(), PAIRED, engine, trials=4, round_trials=2)
    stepped(made, 1)
    made.close()
    made.close()
    assert not psutil.Process(engine.server_pid).children()
