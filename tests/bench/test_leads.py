"""At the end of a repeat all programs that ever led are measured again, side by side."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench.finals import SHARE_OF_SEARCH, measure_leads, measure_winners
from pytest_ansorbench.bench.prepared import PreparedCase, prepare
from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.search import Search
from pytest_ansorbench.storage.entries import FinalEntry, RoundEntry
from pytest_ansorbench.strategies import Registry
from pytest_ansorbench.workloads import BatchMatmul, Mlp
from tests.bench.conftest import RUNS
from tests.bench.test_repeat import repeat
from tests.fast_engine import FastEngine
from tests.proposers import scripted

KINDS = ("fine", "wrong", "fine", "fine")
LONG = scripted(*[KINDS] * 4, name="long")


class Noting(FastEngine):
    """Notes what it was asked to measure side by side."""

    def __init__(self, target, **options):
        super().__init__(target, **options)
        self.asked = []

    def measure_sets(self, programs, check, effort, before=None):
        self.asked.append((len(programs), effort))
        return super().measure_sets(programs, check, effort, before)


class Improving(Noting):
    """Each program that it runs is faster than the one before."""

    def __init__(self, target):
        super().__init__(target)
        self.ran = 0

    def run(self, built, measurement, *, best_s=None, incumbent=None):
        self.ran += 1
        measured = super().run(built, measurement, best_s=best_s, incumbent=incumbent)
        samples = (0.1 / self.ran,) * len(measured.latencies_s)
        return dataclasses.replace(measured, latencies_s=samples)


@pytest.fixture
def engine(target):
    with Noting(target) as started:
        yield started


def drained(pieces):
    """Entries of a measurement, and what it returns."""
    entries = []
    while True:
        try:
            entries.append(next(pieces))
        except StopIteration as end:
            return entries, end.value


def leads_of(prepared, searches, engine, before=()):
    """The leads of searches, after those of some tasks, and the entries of the others."""
    behind = {entry.task: entry for entry in before}
    entries, (leads, seconds) = drained(
        measure_leads(prepared, searches, engine, label="case", seed=0, before=behind)
    )
    assert seconds == sum(entry.elapsed_s for entry in (*before, *entries))
    return leads, entries


def searched(engine, strategies, prepared, trials, round_trials=4, **options):
    searches = [
        Search(
            prepared.case,
            prepared.tasks,
            strategy,
            engine,
            seed=0,
            budget_trials=trials,
            round_trials=round_trials,
            **options,
        )
        for strategy in strategies
    ]
    for search in searches:
        while not search.finished:
            search.step()
    return searches


def believed_leads(search):
    """Trials that were the fastest so far, one entry a task."""
    best, found = {}, []
    for trial in search.trials:
        task = search.rounds[trial.round - 1].task
        if trial.status == "ok" and trial.latency_s < best.get(task, float("inf")):
            best[task] = trial.latency_s
            found.append(trial.index)
    return found


def test_leads_are_those_that_the_trials_tell_of(target):
    case = BatchMatmul(batch=1, m=16, n=16, k=16)
    prepared = PreparedCase(case, case.tasks())
    with Noting(target, compiles=False) as engine:
        searches = searched(engine, [Registry().get("random")], prepared, 24)
        [leads], _ = leads_of(prepared, searches, engine)
    told = believed_leads(searches[0])
    assert [lead.index for lead in searches[0].tasks[0].leads] == told
    measured = [lead.trial for lead in leads]
    assert set(measured) <= set(told)
    assert measured == sorted(measured)
    assert measured[-1] == told[-1]
    assert all(lead.status == "ok" and lead.sets for lead in leads)


def test_a_short_run_measures_its_first_and_its_last_lead_only(target, prepared):
    with Improving(target) as engine:
        fine = scripted(*[("fine",) * 4] * 2, name="fine")
        searches = searched(engine, [fine], prepared, 7)
        [leads], _ = leads_of(prepared, searches, engine)
    assert believed_leads(searches[0]) == [*range(7)]
    assert [lead.trial for lead in leads] == [0, 6]


def test_it_takes_a_share_of_the_search(engine, prepared):
    searches = searched(engine, [LONG, LONG], prepared, 16)
    leads_of(prepared, searches, engine)
    [(programs, effort)] = engine.asked
    assert programs <= engine.capacity
    spent_s = sum(search.search_s for search in searches)
    assert effort.most_s == pytest.approx(SHARE_OF_SEARCH * spent_s)


def test_winners_take_more_than_the_least_for_a_share_of_the_search(engine, prepared):
    searches = searched(engine, [LONG, LONG], prepared, 16)
    drained(measure_winners(prepared, searches, engine, SideBySide(), label="case", seed=0))
    [(programs, effort)] = engine.asked
    assert programs == 2
    spent_s = sum(search.search_s for search in searches)
    assert effort == SideBySide(enough_s=pytest.approx(SHARE_OF_SEARCH * spent_s))


def test_winners_go_on_after_any_set(engine, prepared):
    lost = scripted(("wrong",) * 4, name="lost")
    searches = searched(engine, [LONG, lost, LONG], prepared, 4)

    def after(before=None):
        winners = measure_winners(
            prepared, searches, engine, SideBySide(), label="case", seed=0, before=before
        )
        return drained(winners)

    entries, (finals, peers) = after()
    assert [final.status for final in finals] == ["ok", "run-error", "ok"]
    assert [max(entry.finals[0].sets) for entry in entries] == [0, 1, 2, 3]
    assert entries[-1].finals == finals
    for done, entry in enumerate(entries, start=1):
        assert after(entry) == (entries[done:], (finals, peers))
    shorter = dataclasses.replace(entries[0], slice_ms=2.0)
    assert {entry.slice_ms for entry in after(shorter)[0]} == {2.0}
    assert engine.asked[-1][1].slice_ms == 2.0


def test_an_arm_without_a_valid_trial_has_no_leads(engine, prepared):
    lost = scripted(("wrong",) * 4, name="lost")
    searches = searched(engine, [LONG, lost], prepared, 4)
    (found, none), _ = leads_of(prepared, searches, engine)
    assert len(found) == 1
    assert none == ()
    searches = searched(engine, [lost], prepared, 4)
    engine.asked.clear()
    assert leads_of(prepared, searches, engine) == (((),), [])
    assert engine.asked == []


def test_tasks_of_a_network_are_measured_one_by_one(target):
    case = Mlp(features=24, hidden=(16, 16), classes=5)
    with Noting(target, compiles=False) as engine:
        prepared = prepare(case, case.tasks(), engine, lambda note: None)
        searches = searched(
            engine, [Registry().get("random")] * 2, prepared, 4 * len(prepared.tasks), 4
        )
        engine.asked.clear()
        leads, entries = leads_of(prepared, searches, engine)
        assert len(engine.asked) == len(prepared.tasks)
        assert [entry.task for entry in entries] == [*range(len(prepared.tasks))]
        for search, found in zip(searches, leads, strict=True):
            trials = [lead.trial for lead in found]
            assert trials == sorted(trials)
            assert set(trials) <= set(believed_leads(search))
            tasks = {search.rounds[search.trials[t].round - 1].task for t in trials}
            assert tasks == set(range(len(prepared.tasks)))
        again, others = leads_of(prepared, searches, engine, before=[entries[1], entries[0]])
        assert again == leads
        assert [entry.task for entry in others] == [*range(2, len(prepared.tasks))]


def test_believed_progress_measures_no_leads(engine, prepared):
    plan = dataclasses.replace(RUNS, progress="believed")
    ended = repeat(prepared, engine, plan=plan)[-1]
    assert isinstance(ended, FinalEntry)
    assert ended.leads is None
    assert len(engine.asked) == 1
    assert plan.conditions(1)["progress"] == "believed"
    ended = repeat(prepared, engine)[-1]
    assert [len(leads) for leads in ended.leads] == [1, 1]
    assert ended.leads_s > 0


def test_a_resumed_search_knows_its_leads(engine, prepared):
    plan = dataclasses.replace(RUNS, budget=Budget(Trials(16), 4))
    *entries, ended = repeat(prepared, engine, strategies=(LONG,), plan=plan)
    rounds = [entry for entry in entries if isinstance(entry, RoundEntry)]
    again = repeat(prepared, engine, strategies=(LONG,), plan=plan, rounds={"long": rounds})
    assert [lead.trial for lead in again[-1].leads[0]] == [lead.trial for lead in ended.leads[0]]
