"""Recorded runs that stand in for new ones of the reference."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench import SavedReference
from pytest_ansorbench.bench.reference import RecordedSearch, StandIn
from pytest_ansorbench.hosted import HostedStrategy, HostProcess
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.search import ResumeError
from pytest_ansorbench.storage import (
    StorageError,
    fingerprint,
    list_journals,
    read_journal,
    read_result,
    write_result,
)
from pytest_ansorbench.storage.entries import CaseEntry, RecordedEntry, RoundEntry
from pytest_ansorbench.strategies import Registry
from tests import interpreters
from tests.bench.conftest import FINE, ONE, PLAN, TWO, repeats
from tests.bench.test_session import Continued, Recording
from tests.fast_engine import FastEngine
from tests.faults import Doubling
from tests.proposers import scripted
from tests.synthetic import with_runs

CASE = Doubling()
THREE = scripted(FINE, FINE, name="three")


@pytest.fixture
def any_pace(monkeypatch):
    """Rounds of milliseconds never take as long twice."""
    monkeypatch.setattr("pytest_ansorbench.bench.repeat.MOST_DRIFT", 1e9)


@pytest.fixture
def saved(make_session, tmp_path):
    """A result of two repeats."""
    session = make_session(storage=tmp_path / "then")
    session.run(CASE, [ONE, TWO], PLAN)
    write_result(session.result(), tmp_path / "saved.json")
    return read_result(tmp_path / "saved.json")


def rerun(session, saved, number=2, strategies=(ONE, THREE), case=CASE, progress=None):
    reference = SavedReference(saved, {})
    return session.run(case, strategies, repeats(number), progress, reference=reference)


def entries(session, kind):
    return read_journal(session.journal).of(kind)


def test_recorded_runs_are_those_that_were_saved(make_session, saved, any_pace):
    session = make_session()
    result = rerun(session, saved)
    then, now = saved.cases[0].runs_of("one"), result.runs_of("one")
    for before, after in zip(then, now, strict=True):
        assert after.trials == before.trials and after.rounds == before.rounds
        assert after.leads == before.leads and after.schedules == before.schedules
        assert after.recorded.created == saved.created
        assert after.recorded.final == before.final
        assert after.recorded.first_round_s > 0.0
        assert after.final.status == "ok" and after.final.trial == before.final.trial
    assert all(run.recorded is None for run in result.runs_of("three"))
    # Of the reference nothing is run but a first round, which is no part of any run.
    assert {entry.strategy for entry in entries(session, RoundEntry)} == {"three"}
    assert [entry.seed for entry in entries(session, RecordedEntry)] == [0, 1]
    assert len(result.verdicts) == 1 and session.notes == ()


def test_they_may_be_of_another_test_of_the_case(make_session, saved, any_pace):
    [case] = saved.cases
    other = dataclasses.replace(case, strategies=("two",), runs=case.runs_of("two"), verdicts=())
    result = rerun(make_session(), dataclasses.replace(saved, cases=(other, case)))
    assert all(run.recorded is not None for run in result.runs_of("one"))


def test_they_survive_a_file_and_a_merge(make_session, saved, any_pace, tmp_path):
    session = make_session()
    result = rerun(session, saved)
    write_result(session.result(), tmp_path / "now.json")
    [case] = read_result(tmp_path / "now.json").cases
    assert case.runs == result.runs


def test_seeds_that_were_not_recorded_are_run(make_session, saved, any_pace):
    result = rerun(make_session(), saved, number=3)
    assert [run.recorded is None for run in result.runs_of("one")] == [False, False, True]


def test_a_first_round_that_takes_too_long_goes_on_as_a_new_run(make_session, saved, monkeypatch):
    monkeypatch.setattr("pytest_ansorbench.bench.repeat.MOST_DRIFT", 1.0 + 1e-12)
    session, progress = make_session(), Recording()
    result = rerun(session, saved, progress=progress)
    assert all(run.recorded is None and len(run.rounds) == 2 for run in result.runs)
    assert entries(session, RecordedEntry) == []
    assert progress.standings[-1].runs_done == progress.standings[-1].runs_total == 4


def test_progress_is_of_the_runs_that_are_searched(make_session, saved, any_pace):
    """More seeds were recorded than are asked for."""
    progress = Recording()
    rerun(make_session(), saved, number=1, progress=progress)
    assert [one.runs_done for one in progress.standings] == [0, 0, 0.25, 0.5, 0.75, 1]
    assert {one.runs_total for one in progress.standings} == {1}


def test_a_first_round_in_which_the_session_was_stopped_is_run_again(make_session, saved, any_pace):
    session, progress = make_session(), Continued(1)
    result = rerun(session, saved, number=1, progress=progress)
    trials = [standing.run.strategy for standing in progress.standings]
    assert trials.count("one") == 2 * 2  # those of the first round, twice
    assert [entry.seed for entry in entries(session, RecordedEntry)] == [0]
    assert result.runs_of("one")[0].recorded is not None


def test_other_schedule_rules_make_a_new_run(make_session, saved, any_pace):
    [case] = saved.cases
    spaces = tuple(dataclasses.replace(one, sketches=("other",)) for one in case.runs[0].tasks)
    session = make_session()
    result = rerun(session, dataclasses.replace(saved, cases=(with_runs(case, tasks=spaces),)))
    assert all(run.recorded is None and len(run.rounds) == 2 for run in result.runs)


def test_runs_of_a_network_are_those_of_the_same_scheduler(saved, target, tmp_path):
    [journal] = list_journals(tmp_path / "then")
    entry = read_journal(journal).of(CaseEntry)[0]
    of_network = dataclasses.replace(
        entry, conditions={**entry.conditions, "scheduler": "gradient"}
    )
    machine = FastEngine(target).machine
    otherwise = dataclasses.replace(saved, settings={"scheduler": "round-robin"})
    assert SavedReference(otherwise, {}).runs(ONE, of_network, machine) == (
        {},
        "its scheduler of tasks is 'round-robin', and now it is 'gradient'",
    )
    for result, case in ((saved, of_network), (otherwise, entry)):
        found, reason = SavedReference(result, {}).runs(ONE, case, machine)
        assert [*found] == [0, 1] and not reason


def test_runs_that_began_with_what_was_learnt_do_not_stand_in_and_others_do(
    saved, target, tmp_path
):
    [journal] = list_journals(tmp_path / "then")
    entry = read_journal(journal).of(CaseEntry)[0]
    learnt = dataclasses.replace(saved, settings={"learn": "own"})
    transfer = dataclasses.replace(Registry().get("draft+transfer"), name="one")
    again, machine = SavedReference(learnt, {}), FastEngine(target).machine
    assert again.runs(transfer, entry, machine) == (
        {},
        "its searches began with what was learnt in 'own'",
    )
    default = dataclasses.replace(Registry().get("default"), name="one")
    found, reason = again.runs(default, entry, machine)
    assert [*found] == [0, 1] and not reason


def test_an_arm_of_another_toolchain_is_run_anew_with_a_note(make_session, saved):
    host = HostProcess("old", "/nowhere/python", interpreters.ROOT, dict)
    session = make_session()
    with pytest.raises(EngineError, match="cannot start the interpreter"):
        rerun(session, saved, strategies=(HostedStrategy("one@old", ONE, host), THREE))
    assert session.notes == (
        "doubling: its reference is run anew: one@old is searched by another toolchain",
    )


def test_an_interrupted_repeat_goes_on_with_the_recorded_run(make_session, saved, any_pace):
    first = make_session()
    rerun(first, saved)
    first.close()
    path = first.journal
    lines = path.read_text().splitlines(keepends=True)
    [at, _] = [n for n, line in enumerate(lines) if line.startswith('{"kind":"recorded"')]
    path.write_text("".join(lines[: at + 2]))
    again = make_session(past=read_journal(path))
    result = rerun(again, saved)
    assert all(run.recorded is not None for run in result.runs_of("one"))
    assert len(entries(again, RecordedEntry)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda case: dataclasses.replace(case, case="other", runs=()), "it has no such case"),
        (lambda case: dataclasses.replace(case, version="2"), "its version of the case is '2'"),
        (lambda case: with_runs(case, budget_trials=8), "its runs have 8 trials in rounds of 2"),
        (
            lambda case: with_runs(case, run_time_s=60.0),
            "its runs have 4 trials in rounds of 2 and 60 s",
        ),
        (lambda case: with_runs(case, flops=5), "its runs have 5 FLOP, and now it has "),
        (lambda case: with_runs(case, schedules=None), "no runs of one on this machine that"),
        (lambda case: with_runs(case, machine="abc"), "no runs of one on this machine that"),
        (lambda case: dataclasses.replace(case, runs=()), "no runs of one on this machine that"),
    ],
)
def test_a_case_that_does_not_fit_is_run_anew_with_the_reason(
    make_session, saved, any_pace, change, message
):
    machines = {**saved.machines, "abc": next(iter(saved.machines.values()))}
    other = dataclasses.replace(saved, cases=(change(saved.cases[0]),), machines=machines)
    session = make_session()
    result = rerun(session, other)
    assert all(run.recorded is None for run in result.runs)
    [note] = session.notes
    assert note.startswith(f"{CASE.id}: its reference is run anew: ") and message in note


def test_a_run_is_recorded_once(make_session, saved, any_pace):
    first = make_session()
    rerun(first, saved)
    second = make_session()
    result = rerun(second, first.result())
    assert all(run.recorded is None for run in result.runs)
    assert "no runs of one on this machine that keep their schedules" in second.notes[0]


@pytest.mark.parametrize(
    ("machine", "now", "message"),
    [
        ({"cpu": "abacus"}, {}, "another machine (cpu: made up is now abacus"),
        ({"packages": {"apache-tvm": "9"}}, {}, "other packages (apache-tvm 8 is now 9)"),
        ({"packages": {"apache-tvm": "8", "torch": "2"}}, {}, ""),  # it told of no such
        ({}, {"check": "all"}, "with check 'winners', and now there is 'all'"),
        ({}, {"memory_limit_mb": 1}, ""),  # it is of a version that had no such setting
        ({}, {}, ""),
    ],
)
def test_what_no_run_of_it_fits_is_said(saved, target, machine, now, message):
    then = {"packages": {"apache-tvm": "8"}}
    machines = {name: {**one, **then} for name, one in saved.machines.items()}
    saved = dataclasses.replace(saved, machines=machines)
    here = {**FastEngine(target).machine, **then, **machine}
    conditions = EngineSettings(**now).conditions()
    reason = SavedReference(saved, {"check": "winners"}).misfit(here, conditions)
    assert message in reason and bool(reason) == bool(message)


def test_a_result_of_several_machines_has_runs_of_this_one(saved, target):
    elsewhere = {"cpu": "abacus"}
    machines = {fingerprint(elsewhere): elsewhere, **saved.machines}
    merged = SavedReference(dataclasses.replace(saved, machines=machines), {})
    assert merged.misfit(FastEngine(target).machine, {}) == ""


def test_a_schedule_that_does_not_fit_is_refused(saved):
    run = dataclasses.replace(saved.cases[0].runs_of("one")[0], schedules=("nonsense",))
    with pytest.raises(ResumeError, match="a recorded run cannot be used again"):
        RecordedSearch(StandIn(run, saved.created), CASE.tasks())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda line: line.replace('"first_round_s":', '"first_round_s":-'), "no first round"),
        (lambda line: line.replace('"seed":0', '"seed":1'), "another case, strategy or seed"),
    ],
)
def test_a_damaged_line_is_refused(make_session, saved, any_pace, damage, message):
    session = make_session()
    rerun(session, saved, number=1)
    session.close()
    lines = session.journal.read_text().splitlines(keepends=True)
    [at] = [n for n, line in enumerate(lines) if line.startswith('{"kind":"recorded"')]
    head, run = lines[at].split('"run":')
    lines[at] = (
        damage(head) + '"run":' + run
        if "first_round" in message or "no first" in message
        else head + '"run":' + damage(run)
    )
    session.journal.write_text("".join(lines))
    with pytest.raises(StorageError, match=message):
        make_session(past=read_journal(session.journal))
