"""Schedules that a result keeps are those that won, and become programs again."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.packed import PackedError
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.storage import read_result, write_result
from pytest_ansorbench.winners import winners_of, winners_of_case
from pytest_ansorbench.winners.winner import refuted_in
from tests.synthetic import with_runs
from tests.winners.conftest import MATMUL, MLP


def test_there_is_one_for_each_task_of_each_run(tuned):
    found = [*winners_of(tuned)]
    of_matmul = [one for one in found if one.case == MATMUL.id]
    assert [(one.strategy, one.seed) for one in of_matmul] == [
        *(("random", 0), ("again", 0), ("random", 1), ("again", 1))
    ]
    of_mlp = [one for one in found if one.case == MLP.id and one.seed == 0]
    assert [one.task.name for one in of_mlp] == [task.name for task in MLP.tasks()]
    assert [one.place for one in of_mlp] == [*range(len(of_mlp))]


def test_it_is_the_program_that_the_task_was_tuned_as(tuned):
    from tvm_ffi import structural_equal

    for winner in winners_of(tuned):
        case = MATMUL if winner.case == MATMUL.id else MLP
        task = case.tasks()[winner.place]
        assert structural_equal(winner.unscheduled(), task.mod)
        scheduled = winner.candidate()
        assert not structural_equal(scheduled.mod, task.mod)
        assert scheduled.payload is None


def test_its_latency_is_the_one_that_was_measured_again(tuned):
    [case, network] = tuned.cases
    first = next(winners_of(tuned))
    assert first.latency_s == case.runs[0].final.latency_s
    assert first.gflops == pytest.approx(MATMUL.flops / first.latency_s / 1e9)
    of_network = next(one for one in winners_of(tuned) if one.case == MLP.id)
    run = network.runs[0]
    [again] = [lead for lead in run.leads if lead.trial == run.best_trials[0].index]
    assert of_network.latency_s == again.latency_s
    unmeasured = dataclasses.replace(network, runs=(dataclasses.replace(run, leads=None),))
    believed = next(winners_of(dataclasses.replace(tuned, cases=(unmeasured,))))
    assert believed.latency_s == run.best_trials[0].latency_s


def test_a_file_keeps_them(tuned, tmp_path):
    path = tmp_path / "result.json"
    write_result(tuned, path)
    assert [*winners_of(read_result(path))] == [*winners_of(tuned)]


def test_what_was_not_recorded_is_not_there(tuned):
    [case, _] = tuned.cases
    older = dataclasses.replace(case, programs=())
    assert [*winners_of(dataclasses.replace(tuned, cases=(older,)))] == []
    without = with_runs(case, schedules=None)
    assert [*winners_of(dataclasses.replace(tuned, cases=(without,)))] == []


def test_a_task_without_a_valid_trial_has_none(tuned):
    [case, _] = tuned.cases
    run = dataclasses.replace(case.runs[0], schedules=(None,))
    failed = dataclasses.replace(case, runs=(run,))
    assert [*winners_of(dataclasses.replace(tuned, cases=(failed,)))] == []


def test_what_did_not_work_when_it_was_measured_again_is_none(tuned):
    [case, network] = tuned.cases
    run, *others = case.runs
    for trial in (run.final.trial, None):  # a network has none
        wrong = Remeasurement(trial, "wrong-result", (), error="off")
        refuted = dataclasses.replace(case, runs=(dataclasses.replace(run, final=wrong), *others))
        assert len([*winners_of_case(refuted)]) == len([*winners_of_case(case)]) - 1
        assert [*refuted_in(refuted)] == [run.schedules[0]] and not [*refuted_in(case)]
    # Of a network that does not work as a whole nobody knows which task is to blame.
    [run] = network.runs[:1]
    wrong = Remeasurement(run.final.trial, "wrong-result", (), error="off")
    refuted = dataclasses.replace(network, runs=(dataclasses.replace(run, final=wrong),))
    assert not [*refuted_in(refuted)]


@pytest.mark.parametrize(
    ("field", "text"), [("schedule", "%"), ("program", "bm8="), ("program", "")]
)
def test_damaged_text_is_refused(tuned, field, text):
    winner = dataclasses.replace(next(winners_of(tuned)), **{field: text})
    with pytest.raises(PackedError):
        winner.candidate()
