"""From a journal's lines to runs."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench.history import case_histories
from pytest_ansorbench.bench.repeat import run_repeat
from pytest_ansorbench.records import LastRanking, Remeasurement, TaskRanking, TaskRecord
from pytest_ansorbench.search import ResumeError, unpack
from pytest_ansorbench.search.candidates import pack
from pytest_ansorbench.storage import Past, StorageError, fingerprint
from pytest_ansorbench.storage.entries import (
    AbandonedEntry,
    CaseEntry,
    EndEntry,
    FinalEntry,
    LeadsEntry,
    RoundEntry,
    SessionEntry,
    SetEntry,
    YardsticksEntry,
)
from pytest_ansorbench.strategies import LastCheck
from tests.bench.conftest import FINE, ONE, RUNS, TWO
from tests.fast_engine import FastEngine
from tests.proposers import scripted
from tests.synthetic import make_yardsticks

BUDGET = {"trials": 4, "round_trials": 2}
SESSION = SessionEntry(3, "2024-01-02T03:04:05+00:00", {}, {}, {})


def past_of(tmp_path, entries):
    return Past(tmp_path / "0001.jsonl", SESSION, tuple(entries), 0, 0)


def begun(prepared, strategies=(ONE, TWO)):
    case = prepared.case
    return CaseEntry(
        label="case",
        case=case.id,
        version="1",
        strategies=tuple(strategy.name for strategy in strategies),
        control=None,
        flops=case.flops,
        tasks=tuple(TaskRecord(t.name, t.weight, t.flops, ()) for t in prepared.tasks),
        programs=("packed",),
        conditions=RUNS.conditions(1),
    )


def test_the_order_of_arms_is_what_older_journals_call_it():
    assert RUNS.conditions(1)["order"] == "interleaved"


@pytest.fixture
def lines(prepared, engine):
    """A case with one repeat of two arms."""
    return [
        begun(prepared),
        *run_repeat(prepared, 3, [ONE, TWO], RUNS, engine, label="case"),
    ]


def test_a_complete_repeat_is_assembled_to_runs(lines, prepared, engine, tmp_path):
    [history] = case_histories(past_of(tmp_path, [*lines, EndEntry(1)])).values()
    assert history.complete(3)
    one, two = history.runs(3)
    assert (one.strategy, two.strategy) == ("one", "two")
    assert (one.case, one.seed, one.flops) == (prepared.case.id, 3, prepared.case.flops)
    assert (one.budget_trials, one.round_trials) == (4, 2)
    assert [trial.index for trial in one.trials] == [0, 1, 2, 3]
    assert [r.index for r in one.rounds] == [1, 2]
    assert one.stopped == ""
    assert one.final == lines[-1].finals[0]
    assert one.machine == two.machine == fingerprint(engine.machine)
    assert history.machines == {one.machine: engine.machine}
    [task] = one.tasks
    assert task.sketches == lines[2].sketches


def test_the_schedule_that_won_is_kept(lines, prepared, tmp_path):
    from tvm_ffi import structural_equal

    [history] = case_histories(past_of(tmp_path, lines)).values()
    run = history.runs(3)[0]
    [best], [schedule] = run.best_trials, run.schedules
    rounds = [line for line in lines if isinstance(line, RoundEntry) and line.strategy == "one"]
    entry = rounds[best.round - 1]
    batch = unpack(entry.state.candidates, prepared.tasks[0].mod)
    [kept] = unpack(schedule, prepared.tasks[0].mod)
    assert structural_equal(kept.mod, batch[best.index - entry.trials[0].index].mod)


def test_a_round_without_the_schedule_that_won_is_refused(lines, tmp_path):
    broken = [
        dataclasses.replace(line, state=dataclasses.replace(line.state, candidates=pack([])))
        if isinstance(line, RoundEntry)
        else line
        for line in lines
    ]
    [history] = case_histories(past_of(tmp_path, broken)).values()
    with pytest.raises(ResumeError, match="round 1 has no schedule of trial 0: expected a packed"):
        history.runs(3)


def test_repeats_may_be_of_different_machines(lines, prepared, target, tmp_path):
    with FastEngine(target, cpu="another") as elsewhere:
        lines += run_repeat(prepared, 4, [ONE, TWO], RUNS, elsewhere, label="case")
    [history] = case_histories(past_of(tmp_path, lines)).values()
    assert sorted(machine["cpu"] for machine in history.machines.values()) == [
        "another",
        "made up",
    ]
    assert {run.machine for run in history.runs(4)} == {fingerprint(elsewhere.machine)}


def test_nothing_counts_of_a_repeat_that_was_given_up(lines, prepared, tmp_path):
    begins, *rest = lines
    lost = [*rest[:3], AbandonedEntry("case", 3, "its worker is gone")]
    [history] = case_histories(past_of(tmp_path, [begins, *lost])).values()
    assert history.repeats == {}
    [again] = case_histories(past_of(tmp_path, [begins, *lost, *rest])).values()
    [whole] = case_histories(past_of(tmp_path, lines)).values()
    assert again.runs(3) == whole.runs(3)


def test_baselines_stay_of_machines_alone_that_repeats_are_of(lines, engine, tmp_path):
    elsewhere = make_yardsticks()
    here = dataclasses.replace(elsewhere, machine=fingerprint(engine.machine))
    measured = [YardsticksEntry("case", one) for one in (elsewhere, here)]
    [history] = case_histories(past_of(tmp_path, [lines[0], *measured, *lines[1:]])).values()
    assert history.result([3]).yardsticks == (here,)


def test_only_a_repeat_that_is_under_way_can_be_given_up(lines, tmp_path):
    gone = AbandonedEntry("case", 3, "its worker is gone")
    with pytest.raises(StorageError, match="the repeat with seed 3 is over already"):
        case_histories(past_of(tmp_path, [*lines, gone]))
    with pytest.raises(StorageError, match="the repeat with seed 3 has not begun"):
        case_histories(past_of(tmp_path, [lines[0], gone]))


def test_a_repeat_without_its_end_is_not_complete(lines, tmp_path):
    [history] = case_histories(past_of(tmp_path, lines[:-1])).values()
    assert not history.complete(3)
    assert [history.spent(rounds) for rounds in history.begun] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("rounds", "stopped"),
    [
        ((FINE, None), "the strategy proposes nothing more"),
        ((FINE, FINE, None), ""),  # the budget is spent before
    ],
)
def test_a_run_that_ended_early_says_why(prepared, engine, tmp_path, rounds, stopped):
    arm = scripted(*rounds, name="one")
    entries = run_repeat(prepared, 0, [arm], RUNS, engine, label="case")
    [history] = case_histories(past_of(tmp_path, [begun(prepared, [arm]), *entries])).values()
    assert history.runs(0)[0].stopped == stopped


def changed(line, **changes):
    return lambda lines: [
        dataclasses.replace(entry, **changes) if place == line else entry
        for place, entry in enumerate(lines)
    ]


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda lines: [SESSION, *lines], "line 2: a session begins a second time"),
        (lambda lines: [*lines, lines[0]], "the case 'case' begins a second time"),
        (lambda lines: lines[1:], "line 2: the case 'case' has not begun"),
        (lambda lines: [*lines, lines[1]], "the repeat with seed 3 begins a second time"),
        (lambda lines: [lines[0], *lines[2:]], "line 3: the repeat with seed 3 has not begun"),
        (lambda lines: [*lines, lines[2]], "the repeat with seed 3 is over already"),
        (lambda lines: [*lines[:2], lines[4], *lines[5:]], "expected round 1, got 2"),
        (changed(0, conditions={"trials": 4}), "the case's budget is missing"),
        (changed(0, conditions={"trials": 4, "round_trials": 0}), "the case's budget is missing"),
        (changed(0, conditions={**BUDGET, "run_time_s": "60s"}), "seconds of run time, got '60s'"),
        (changed(0, conditions={**BUDGET, "run_time_s": -1.0}), "seconds of run time, got -1.0"),
        (changed(2, strategy="three"), "the case has no strategy 'three'"),
        (changed(9, finals=()), "expected 2 winners, got 0"),
        (changed(9, leads=((),)), "expected leads of 2 arms, got 1"),
    ],
)
def test_lines_that_do_not_follow_are_refused(lines, tmp_path, spoil, what):
    assert len(lines) == 10
    assert isinstance(lines[9], FinalEntry)
    with pytest.raises(StorageError, match=f"bad journal .*{what}"):
        case_histories(past_of(tmp_path, spoil(lines)))


def test_pieces_of_the_end_are_there_to_go_on_with(lines, tmp_path):
    first, second, leads = lines[6:9]
    assert [type(line) for line in lines[6:9]] == [SetEntry, SetEntry, LeadsEntry]
    for done, winners, of_tasks in [
        (6, None, {}),
        (7, first, {}),
        (8, second, {}),
        (9, second, {0: leads}),
    ]:
        [history] = case_histories(past_of(tmp_path, lines[:done])).values()
        repeat = history.repeats[3]
        assert (repeat.winners, repeat.leads, repeat.final) == (winners, of_tasks, None)


def test_a_repeat_without_pieces_of_its_end_is_complete_too(lines, tmp_path):
    older = [*lines[:6], lines[9]]
    found = [case_histories(past_of(tmp_path, one)) for one in (older, lines)]
    assert found[0]["case"].runs(3) == found[1]["case"].runs(3)


UNPLACED = Remeasurement(0, "ok", (1.0,))


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (changed(7, finals=()), "line 9: expected 2 winners, got 0"),
        (changed(7, finals=(UNPLACED,) * 2), "line 9: expected set and place of each slice"),
        (changed(8, task=1), "line 10: the case has no task 1"),
        (changed(8, leads=()), "line 10: expected leads of 2 arms, got 0"),
        (changed(8, leads=((), (Remeasurement(9, "run-error", ()),))), "has no valid trial 9"),
        (lambda lines: [*lines[:9], lines[8]], "line 11: the leads of task 0 were measured"),
        (lambda lines: [*lines[:5], lines[6], lines[5]], "line 8: the searches .* are over"),
        (lambda lines: [*lines[:5], lines[8], lines[5]], "line 8: the searches .* are over"),
        (lambda lines: [*lines, lines[7]], "line 12: the repeat with seed 3 is over already"),
    ],
)
def test_pieces_of_the_end_that_do_not_follow_are_refused(lines, tmp_path, spoil, what):
    with pytest.raises(StorageError, match=f"bad journal .*{what}"):
        case_histories(past_of(tmp_path, spoil(lines)))


def test_a_round_with_trials_of_another_is_refused(lines, tmp_path):
    trials = tuple(dataclasses.replace(trial, round=2) for trial in lines[2].trials)
    with pytest.raises(StorageError, match="expected trials of round 1 alone"):
        case_histories(past_of(tmp_path, changed(2, trials=trials)(lines)))


def test_a_repeat_that_makes_no_run_is_not_gone_on_with(lines, tmp_path):
    trials = tuple(dataclasses.replace(trial, index=0) for trial in lines[2].trials)
    [history] = case_histories(past_of(tmp_path, changed(2, trials=trials)(lines))).values()
    with pytest.raises(ResumeError, match=r"repeat with seed 3 is no repeat: bad trials\[1\]"):
        history.runs(3)


def test_a_round_of_no_task_is_refused(lines, tmp_path):
    elsewhere = dataclasses.replace(lines[2].round, task=1)
    with pytest.raises(StorageError, match="the case has no task 1"):
        case_histories(past_of(tmp_path, changed(2, round=elsewhere)(lines)))


@pytest.fixture
def checked_lines(prepared, engine):
    """A case with one repeat of an arm that has a last check, without pieces of its end."""
    arm = dataclasses.replace(ONE, last_check=LastCheck())
    entries = run_repeat(prepared, 3, [arm], RUNS, engine, label="case")
    whole = [entry for entry in entries if not isinstance(entry, SetEntry | LeadsEntry)]
    return [begun(prepared, [arm]), *whole]


def test_a_last_check_goes_into_its_run(checked_lines, tmp_path):
    [history] = case_histories(past_of(tmp_path, checked_lines)).values()
    [run] = history.runs(3)
    assert run.last_check == checked_lines[-2].ranking
    rounds_s = sum(one.search_s for one in run.rounds)
    assert run.search_s == rounds_s + run.last_check.check_s


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda lines: [*lines[:-1], lines[-2]], "'one' has had its last check already"),
        (lambda lines: [*lines[:-1], lines[3]], "'one' has had its last check already"),
        (lambda lines: [*lines[:2], ranked(lines[-2], 1, 0)], "the case has no task 1"),
        (lambda lines: [*lines[:3], ranked(lines[-2], 0, 2)], "'one' has no valid trial 2"),
    ],
)
def test_last_checks_that_do_not_follow_are_refused(checked_lines, tmp_path, spoil, what):
    with pytest.raises(StorageError, match=f"bad journal .*{what}"):
        case_histories(past_of(tmp_path, spoil(checked_lines)))


def ranked(entry, task, crowned):
    compared = (Remeasurement(crowned, "ok", (1.0,), sets=(0,), places=(0,)),)
    ranking = LastRanking(1.0, (TaskRanking(task, compared, crowned),))
    return dataclasses.replace(entry, ranking=ranking)
