"""Saved runs in place of searches."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.bench import MissingRunsError, Replay
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import StorageError, write_result
from tests.bench.conftest import PLAN
from tests.saved_cases import SAVED, result_of


@pytest.fixture
def replay(tmp_path):
    write_result(result_of(SAVED), tmp_path / "saved.json")
    return Replay([tmp_path / "saved.json"], {"trials": 9})


def test_runs_are_those_of_the_file(replay):
    [saved, *_] = result_of(SAVED).cases
    result = replay.run("a", ["default", "fast"], PLAN)
    assert result.runs == saved.runs
    assert [gate for verdict in result.verdicts for gate in verdict.gates] == []
    assert replay.results == (result,)


def test_todays_limits_count(replay):
    limits = Limits({"search_ratio": 0.75})
    result = replay.run("a", ["default", "fast"], dataclasses.replace(PLAN, limits=limits))
    assert [verdict.outcome for verdict in result.verdicts] == ["holds"]


def test_arms_are_those_of_the_file(replay):
    assert replay.strategies("b") == ("default", "fast")


def test_one_arm_alone_is_shown_without_a_comparison(replay):
    result = replay.run("a", ["fast"], PLAN)
    assert result.strategies == ("fast",)
    assert result.verdicts == ()


def test_what_was_not_run_is_named(replay):
    with pytest.raises(MissingRunsError, match="no saved runs of the case 'd'"):
        replay.run("d", ["default"], PLAN)
    with pytest.raises(MissingRunsError, match="no saved runs of the strategy 'slow' on a"):
        replay.run("a", ["default", "slow"], PLAN)


def test_the_whole_has_todays_settings_and_the_files_machines(replay):
    replay.run("a", ["default", "fast"], PLAN)
    whole = replay.result()
    assert whole.settings == {"trials": 9}
    assert whole.machines == replay.machines == result_of(SAVED).machines


def test_what_other_processes_judged_comes_in_the_files_order(replay):
    judged = [replay.run(name, ["default", "fast"], PLAN) for name in ("c", "a")]
    replay.adopt([dataclasses.replace(judged[0], case="b", runs=())], [range(5)])
    assert [case.case for case in replay.results] == ["a", "b", "c"]
    assert [len(case.runs) for case in replay.results] == [10, 10, 10]


def test_of_what_other_processes_judged_only_their_repeats_count(replay):
    judged = replay.run("a", ["default", "fast"], PLAN, [1, 3])
    assert {run.seed for run in judged.runs} == {1, 3}
    replay.adopt([dataclasses.replace(judged, case="b", runs=())], [[2]])
    assert {run.seed for run in replay.results[1].runs} == {2}


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(StorageError, match=r"nowhere\.json"):
        Replay([tmp_path / "nowhere.json"], {})
