"""One repeat of one case, as a function of plain values."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench.prepared import PreparedCase, prepare
from pytest_ansorbench.bench.repeat import run_repeat
from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage.entries import (
    FinalEntry,
    LastCheckEntry,
    LeadsEntry,
    RepeatEntry,
    RoundEntry,
    SetEntry,
)
from pytest_ansorbench.strategies import LastCheck, PairedMeasurement, Registry
from pytest_ansorbench.workloads import Mlp, from_relax
from tests.bench.conftest import FINE, ONE, RUNS, TWO
from tests.fast_engine import FastEngine
from tests.proposers import scripted
from tests.relax_modules import product

THREE = scripted(FINE, FINE, name="three")


def repeat(prepared, engine, strategies=(ONE, TWO), plan=RUNS, seed=5, **options):
    return list(run_repeat(prepared, seed, strategies, plan, engine, label="case", **options))


def rounds_of(entries):
    return [entry for entry in entries if isinstance(entry, RoundEntry)]


def by_strategy(rounds):
    return {name: [e for e in rounds if e.strategy == name] for name in ("one", "two")}


def turns(entries):
    """Strategy and number of each round, in order."""
    return [(entry.strategy, entry.round.index) for entry in rounds_of(entries)]


def test_it_yields_its_beginning_its_rounds_and_its_end(prepared, engine):
    begun, *between, ended = entries = repeat(prepared, engine)
    rounds, pieces = between[:4], between[4:]
    assert isinstance(begun, RepeatEntry)
    assert begun.machine == engine.machine
    assert all(isinstance(entry, RoundEntry) for entry in rounds)
    assert [type(entry) for entry in pieces] == [SetEntry, SetEntry, LeadsEntry]
    assert isinstance(ended, FinalEntry)
    assert {entry.seed for entry in entries} == {5}
    assert {entry.label for entry in entries} == {"case"}
    assert [len(entry.trials) for entry in rounds] == [2] * 4
    assert [(final.status, len(final.latencies_s)) for final in ended.finals] == [("ok", 6)] * 2
    first, second, leads = pieces
    assert [final.sets for final in first.finals] == [(0, 0, 0)] * 2
    assert (second.finals, leads.leads) == (ended.finals, ended.leads)
    assert ended.leads_s == leads.elapsed_s


def test_arms_take_turns_and_each_leads_in_turn(prepared, engine):
    strategies = (ONE, TWO, THREE)
    assert turns(repeat(prepared, engine, strategies)) == [
        *(("one", 1), ("two", 1), ("three", 1)),
        *(("two", 2), ("three", 2), ("one", 2)),
    ]
    assert turns(repeat(prepared, engine, strategies, lead=2)) == [
        *(("three", 1), ("one", 1), ("two", 1)),
        *(("one", 2), ("two", 2), ("three", 2)),
    ]


def test_what_lies_behind_is_not_done_again(prepared, engine):
    *entries, ended = repeat(prepared, engine)
    rounds = rounds_of(entries)
    behind = {"one": [rounds[0]], "two": [rounds[1]]}
    rest = repeat(prepared, engine, rounds=behind)
    assert turns(rest) == [("two", 2), ("one", 2)]
    assert rest[-1].finals == ended.finals
    *pieces, again = repeat(prepared, engine, rounds=by_strategy(rounds))
    assert turns(pieces) == []
    assert again.finals == ended.finals


def test_pieces_of_the_end_that_lie_behind_are_not_done_again(prepared, engine):
    *entries, ended = repeat(prepared, engine)
    first, second, leads = entries[-3:]
    behind = by_strategy(rounds_of(entries))
    rest = repeat(prepared, engine, rounds=behind, winners=first)
    assert [type(entry) for entry in rest] == [SetEntry, LeadsEntry, FinalEntry]
    assert rest[0].finals == rest[-1].finals == ended.finals
    [alone] = repeat(prepared, engine, rounds=behind, winners=second, leads={0: leads})
    assert (alone.finals, alone.leads) == (ended.finals, ended.leads)
    assert alone.leads_s == ended.leads_s


def test_an_arm_that_is_a_round_ahead_waits(prepared, engine):
    _, first, *_ = repeat(prepared, engine)
    assert turns(repeat(prepared, engine, rounds={"one": [first]})) == [
        *(("two", 1), ("two", 2), ("one", 2)),
    ]


def test_rounds_of_another_case_are_refused(prepared, engine):
    _, first, *_ = repeat(prepared, engine)
    other = dataclasses.replace(first, sketches=("other",))
    with pytest.raises(ResumeError, match="design space"):
        repeat(prepared, engine, rounds={"one": [other]})


def test_a_round_is_yielded_before_the_next_begins(prepared, engine):
    heard = []
    entries = run_repeat(
        prepared, 0, [ONE], RUNS, engine, label="case",
        on_trial=lambda search: heard.append(len(search.trials)),
        on_finals=lambda: heard.append("finals"),
    )  # fmt: skip
    assert isinstance(next(entries), RepeatEntry)
    assert heard == []
    next(entries)
    assert heard == [1, 2]
    next(entries)
    assert heard == [1, 2, 3, 4]
    next(entries)
    assert heard == [1, 2, 3, 4, "finals"]


def test_an_arm_without_a_winner_keeps_its_place(prepared, engine):
    wrong = scripted(("wrong", "unbuildable"), None, name="wrong")
    *_, ended = repeat(prepared, engine, (wrong, ONE))
    assert [final.status for final in ended.finals] == ["run-error", "ok"]
    assert ended.finals[0].trial is None
    assert ended.finals[0].error == "no valid trial"


def test_equal_arguments_give_equal_entries(prepared, target):
    def timeless(entries):
        return [
            (e.strategy, e.round.index, [trial.latencies_s for trial in e.trials])
            for e in entries
            if isinstance(e, RoundEntry)
        ]

    one, other = (repeat(prepared, engine) for engine in started(target, 2))
    assert timeless(one) == timeless(other)
    assert one[-1].finals == other[-1].finals


def started(target, count):
    for _ in range(count):
        with FastEngine(target) as engine:
            yield engine


def test_a_broken_engine_leaves_the_rounds_that_were_yielded(prepared, target):
    with FastEngine(target, fails_at=3) as engine:
        entries = run_repeat(prepared, 0, [ONE, TWO], RUNS, engine, label="case")
        kept = [next(entries) for _ in range(3)]
        with pytest.raises(EngineError, match="planted"):
            next(entries)
    assert turns(kept) == [("one", 1), ("two", 1)]


def test_a_network_is_judged_as_a_whole(target, engine):
    case = Mlp(features=16, hidden=(8, 8), classes=4)
    told = []
    prepared = prepare(case, case.tasks(), engine, told.append)
    assert len(told) == len(prepared.tasks) + 1
    assert all(task.check is not None for task in prepared.tasks)
    plan = dataclasses.replace(RUNS, budget=Budget(Trials(2, per_task=True), 2))
    entries = repeat(prepared, engine, [Registry().get("random")], plan)
    [final] = entries[-1].finals
    assert (final.status, final.trial) == ("ok", None)
    assert {e.round.task for e in entries if isinstance(e, RoundEntry)} == set(
        range(len(prepared.tasks))
    )


def test_a_network_with_one_task_is_judged_as_a_whole_too(engine):
    case = from_relax("one-layer", lambda: product(1.0))
    prepared = prepare(case, case.tasks(), engine, lambda note: None)
    assert len(prepared.tasks) == 1
    [final] = repeat(prepared, engine, [Registry().get("random")])[-1].finals
    assert (final.status, final.trial) == ("ok", None)


def checking(case_strategy):
    """A strategy with a last check of its fastest few."""
    effort = SideBySide(precision=0.0, turns=Span(2, 2), sets=Span(1, 1))
    return dataclasses.replace(case_strategy, last_check=LastCheck(effort=effort))


def test_a_last_check_follows_the_last_round_of_all(prepared, engine):
    _, *entries, ended = repeat(prepared, engine, [checking(ONE), TWO])
    assert turns(entries) == [("one", 1), ("two", 1), ("two", 2), ("one", 2)]
    [checked] = [e for e in entries if isinstance(e, LastCheckEntry)]
    assert entries[4] is checked
    assert (checked.label, checked.seed, checked.strategy) == ("case", ended.seed, "one")
    assert checked.ranking.check_s > 0


def test_a_last_check_that_lies_behind_is_not_done_again(prepared, engine):
    strategies = [checking(ONE), TWO]
    *entries, ended = repeat(prepared, engine, strategies)
    behind = by_strategy(rounds_of(entries))
    checked, *_ = repeat(prepared, engine, strategies, rounds=behind)
    assert isinstance(checked, LastCheckEntry)
    rankings = {"one": checked.ranking}
    rest = repeat(prepared, engine, strategies, rounds=behind, rankings=rankings)
    assert [type(e) for e in rest] == [SetEntry, SetEntry, LeadsEntry, FinalEntry]
    assert rest[-1].finals == ended.finals


class Holding(FastEngine):
    """Notes what is kept and not discarded."""

    held = ()

    def run(self, *args, **options):
        outcome = super().run(*args, **options)
        self.held = (*self.held, outcome.kept) if outcome.kept else self.held
        return outcome

    def discard(self, built):
        self.held = tuple(held for held in self.held if held is not built)


def test_a_repeat_that_is_given_up_lets_its_processes_go(prepared, target):
    paired = dataclasses.replace(ONE, measurement=PairedMeasurement())
    with Holding(target) as engine:
        entries = run_repeat(prepared, 0, [paired], RUNS, engine, label="case")
        next(entries), next(entries)
        assert len(engine.held) == 1
        entries.close()
        assert engine.held == ()


def test_a_strategy_with_a_scheduler_of_its_own_keeps_it(engine):
    class Backwards:
        """The last task until it is done, then the one before."""

        def next_task(self, tasks, draw):
            return max(index for index, task in enumerate(tasks) if len(task.best_s) < 2)

    case = Mlp(features=32, hidden=(16, 16), classes=8)
    random = Registry().get("random")
    own = dataclasses.replace(random, name="own", scheduler=Backwards())
    plan = dataclasses.replace(RUNS, budget=Budget(Trials(8), 1))
    made = PreparedCase(case, case.tasks())
    entries = repeat(made, engine, (random, own), plan)
    order = {
        name: [e.round.task for e in entries if isinstance(e, RoundEntry) and e.strategy == name]
        for name in ("random", "own")
    }
    assert order["random"][:4] == [0, 1, 2, 3]
    assert order["own"] == [3, 3, 2, 2, 1, 1, 0, 0]
