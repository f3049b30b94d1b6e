"""Saved runs in place of searches."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench import Silent
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.plugin.saved_runs import SavedRuns
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.storage import write_result
from tests.bench.conftest import PLAN
from tests.saved_cases import MORE, SAVED, result_of
from tests.synthetic import make_case_result, make_result, make_run

A, B, C, D = MORE
SETTINGS = Settings(strategies=("default", "slow"))


@pytest.fixture
def saved(tmp_path):
    write_result(result_of(SAVED), tmp_path / "saved.json")
    return SavedRuns(dataclasses.replace(SETTINGS, replay=(tmp_path / "saved.json",)), [])


def asked_for(case, arms=("default", "fast"), seeds=None):
    """A test of a case, as it is collected."""
    return Collected(item=None, settings=SETTINGS, arms=arms, case=case.id, seeds=seeds)


def run(saved, case, *asked):
    return saved.run(asked_for(case, *asked), case, PLAN, Silent())


def test_arms_are_those_of_the_file_unless_they_are_chosen(saved):
    assert saved.arms(SETTINGS, "b", False) == ("default", "fast")
    assert saved.arms(SETTINGS, "b", True) == ("default", "slow")
    assert saved.arms(SETTINGS, "d", False) == ("default", "slow")


def test_repeats_are_those_of_the_file(saved):
    assert saved.planned(asked_for(B)) == ((0, 1, 2, 3, 4), True)
    assert saved.planned(asked_for(D)) == ((SETTINGS.experiment.seed,), False)


def test_one_arm_alone_is_shown_without_a_comparison(saved):
    result = run(saved, A, ("fast",))
    assert result.strategies == ("fast",)
    assert result.verdicts == ()


def test_a_case_without_runs_has_no_result(saved):
    assert saved.judged(asked_for(D), PLAN) is None


def test_the_whole_has_todays_settings_and_the_files_machines(saved, tmp_path):
    run(saved, A)
    whole = saved.result()
    today = dataclasses.replace(SETTINGS, replay=(tmp_path / "saved.json",))
    assert whole.settings == today.to_json()
    assert whole.machines == result_of(SAVED).machines


def test_what_other_processes_judged_comes_in_the_files_order(saved):
    judged = [run(saved, case) for case in (C, A)]
    elsewhere = dataclasses.replace(judged[0], case="b", runs=())
    saved.take_over(Handed(results=(elsewhere,), seeds=(tuple(range(5)),)))
    cases = saved.result().cases
    assert [case.case for case in cases] == ["a", "b", "c"]
    assert [len(case.runs) for case in cases] == [10, 10, 10]


def test_of_what_other_processes_judged_only_their_repeats_count(saved):
    judged = run(saved, A, ("default", "fast"), (1, 3))
    assert {one.seed for one in judged.runs} == {1, 3}
    elsewhere = dataclasses.replace(judged, case="b", runs=())
    saved.take_over(Handed(results=(elsewhere,), seeds=((2,),)))
    assert {one.seed for one in saved.result().cases[1].runs} == {2}


def test_two_tests_of_a_case_have_the_runs_of_their_own_arms(tmp_path):
    reference = [make_run("a", seed=seed, final=1.0) for seed in range(5, 8)]
    slow = [make_run("a", "slow", seed, final=1.0) for seed in range(5, 8)]
    [first] = result_of(SAVED[:1]).cases
    second = make_case_result("a", reference, {"slow": slow})
    write_result(make_result(first, second), tmp_path / "saved.json")
    settings = dataclasses.replace(SETTINGS, replay=(tmp_path / "saved.json",))
    saved, reporting = SavedRuns(settings, []), SavedRuns(settings, [])
    assert run(saved, A, ("default", "slow")).runs == second.runs
    assert run(saved, A, ("default", "fast")).runs == first.runs
    assert run(saved, A, ("default",)).runs == first.runs_of("default")  # none is left
    assert saved.planned(asked_for(A, ("default", "slow")))[0] == (5, 6, 7)
    reporting.take_over(saved.hand_over())
    assert [case.runs for case in reporting.result().cases] == [
        *(second.runs, first.runs, first.runs_of("default")),
    ]


def test_two_tests_of_a_case_with_the_same_arms_have_runs_of_their_own(tmp_path):
    cases = [make_case_result("a", [make_run("a", seed=seed, final=1.0)], {}) for seed in (3, 4)]
    write_result(make_result(*cases), tmp_path / "saved.json")
    saved = SavedRuns(dataclasses.replace(SETTINGS, replay=(tmp_path / "saved.json",)), [])
    assert [run(saved, A, ("default",)).runs[0].seed for _ in cases] == [3, 4]
