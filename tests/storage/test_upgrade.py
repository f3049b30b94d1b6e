"""Results of older versions are read; what they lack is marked as not recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_ansorbench.records import SCHEMA_VERSION
from pytest_ansorbench.storage import StorageError, read_result, write_result
from tests.synthetic import make_case_result, make_result, make_run


def as_version_7(data: dict) -> None:  # type: ignore[type-arg]
    """Take away what versions 8 to 11 added."""
    data["schema_version"] = 7
    del data["shards"]
    for case in data["cases"]:
        del case["programs"], case["yardsticks"]
        for run in case["runs"]:
            del run["schedules"], run["recorded"]


def as_version_5(data: dict) -> None:  # type: ignore[type-arg]
    """Take away what version 6 added."""
    as_version_7(data)
    data["schema_version"] = 5
    data["settings"]["goal"] = "median"
    for case in data["cases"]:
        for verdict in case["verdicts"]:
            del verdict["comparison"]["running_time_ratio"]
            for gate in verdict["gates"]:
                del gate["turn"]


def as_version_4(data: dict) -> None:  # type: ignore[type-arg]
    """Undo what version 5 renamed, moved and added."""
    as_version_5(data)
    data["schema_version"] = 4
    del data["noise"]
    for case in data["cases"]:
        [case["machine"]] = {run.pop("machine") for run in case["runs"]}
        for run in case["runs"]:
            del run["leads"], run["leads_s"], run["caches"]
            if run["final"] is not None:
                del run["final"]["sets"], run["final"]["places"]
        for verdict in case["verdicts"]:
            comparison = verdict["comparison"]
            comparison["candidate"] = comparison.pop("challenger")
            for arm in ("reference", "candidate"):
                del comparison[arm]["optimism"]
            for gate in verdict["gates"]:
                for fact in ("reason", "estimate", "repeats", "noise", "advice"):
                    del gate[fact]
                gate["message"] = "it holds"


def as_version_3(data: dict) -> None:  # type: ignore[type-arg]
    """Take away what version 4 added."""
    as_version_4(data)
    data["schema_version"] = 3
    for case in data["cases"]:
        for run in case["runs"]:
            [task] = run.pop("tasks")
            run["sketches"] = task["sketches"]
            for round_ in run["rounds"]:
                del round_["task"]


def as_version_2(data: dict) -> None:  # type: ignore[type-arg]
    """Take away what version 3 added."""
    as_version_3(data)
    data["schema_version"] = 2
    (data["machine"],) = data.pop("machines").values()
    for case in data["cases"]:
        del case["version"], case["machine"], case["control"]
        for verdict in case["verdicts"]:
            for gate in verdict["gates"]:
                del gate["family"], gate["p_value"]
        for run in case["runs"]:
            columns = run["trials"]
            rows = zip(*columns.values(), strict=True)
            run["trials"] = [dict(zip(columns, row, strict=True)) for row in rows]


def as_version_1(data: dict) -> None:  # type: ignore[type-arg]
    """Take away what version 2 added."""
    as_version_2(data)
    data["schema_version"] = 1
    for case in data["cases"]:
        for run in case["runs"]:
            del run["before"], run["after"]
            for trial in run["trials"]:
                del trial["build_s"], trial["run_s"], trial["peak_memory_mb"]
            for round_ in run["rounds"]:
                del round_["restarts"]


def rewritten(path: Path, change: Callable[[dict], None]) -> None:  # type: ignore[type-arg]
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.fixture
def result():
    return make_result(make_case_result(version=""))


@pytest.mark.parametrize("older", [as_version_1, as_version_2, as_version_3, as_version_4])
def test_an_older_version_is_read_as_the_same_without_what_it_lacks(result, tmp_path, older):
    path = tmp_path / "old.json"
    write_result(result, path)
    rewritten(path, older)
    read = read_result(path)
    assert read.schema_version == SCHEMA_VERSION
    assert read.machines == result.machines
    assert read.noise == ()
    assert read.cases[0].runs == result.cases[0].runs  # made-up runs record none of it either
    assert read.cases[0].machines == result.cases[0].machines
    [verdict] = read.cases[0].verdicts
    gates = verdict.gates
    assert [gate.reason for gate in gates] == ["within", "within"]
    assert gates[0].estimate == verdict.comparison.search_ratio
    assert [gate.repeats for gate in gates] == [4, 4]
    assert [gate.family for gate in gates] == (
        [2, 2] if older in (as_version_1, as_version_2) else [1, 1]
    )


def test_the_control_of_version_2_is_told_by_its_setting(tmp_path):
    path = tmp_path / "old.json"
    again = [make_run(strategy="default-again", seed=s, final=1.0) for s in range(4)]
    write_result(make_result(make_case_result(challengers={"default-again": again})), path)
    rewritten(path, as_version_2)
    assert read_result(path).cases[0].control is None
    write_result(make_result(make_case_result(challengers={"default-again": again})), path)
    rewritten(path, as_version_2)
    rewritten(path, lambda data: data["settings"].update(control=True))
    assert read_result(path).cases[0].control == "default-again"


@pytest.mark.parametrize(
    ("outcome", "bound", "reason"),
    [
        ("holds", "value", "within"),
        ("broken", "value", "beyond"),
        ("broken", "undefined", "nothing-to-compare"),
        ("undecided", "value", "straddles"),
    ],
)
def test_a_gate_of_version_4_gets_the_likeliest_reason(result, tmp_path, outcome, bound, reason):
    path = tmp_path / "old.json"
    write_result(result, path)

    def alter(data):
        as_version_4(data)
        [verdict] = data["cases"][0]["verdicts"]
        verdict["comparison"]["search_ratio"]["bound"] = bound
        verdict["gates"][0]["outcome"] = outcome

    rewritten(path, alter)
    [verdict] = read_result(path).cases[0].verdicts
    gate = verdict.gates[0]
    assert (gate.outcome, gate.reason, gate.advice) == (outcome, reason, None)
    assert gate.estimate == verdict.comparison.search_ratio


@pytest.mark.parametrize("damage", [{"metric": ["x"]}, {"metric": "speed"}, {"outcome": 3}])
def test_a_broken_gate_of_version_4_is_refused(result, tmp_path, damage):
    path = tmp_path / "old.json"
    write_result(result, path)
    rewritten(path, as_version_4)
    rewritten(path, lambda data: data["cases"][0]["verdicts"][0]["gates"][0].update(damage))
    with pytest.raises(StorageError, match="bad result file"):
        read_result(path)


@pytest.mark.parametrize("cases", [None, 3, [3], [{"runs": 3}], [{"runs": [{"trials": [3]}]}]])
def test_a_broken_old_result_is_refused_as_any_other(result, tmp_path, cases):
    path = tmp_path / "old.json"
    write_result(result, path)
    data = json.loads(path.read_text())
    data.update(schema_version=1, cases=cases)
    path.write_text(json.dumps(data))
    with pytest.raises(StorageError, match="bad result file"):
        read_result(path)


@pytest.mark.parametrize(("flush_cache_mb", "caches"), [(0, "warm"), (32, "cold")])
def test_caches_were_cold_if_they_were_emptied(result, tmp_path, flush_cache_mb, caches):
    path = tmp_path / "old.json"
    write_result(result, path)
    rewritten(path, as_version_4)
    rewritten(path, lambda data: data["settings"].update(flush_cache_mb=flush_cache_mb))
    assert {run.caches for run in read_result(path).cases[0].runs} == {caches}


def test_what_was_judged_by_the_former_default_is_judged_by_todays(result, tmp_path):
    path = tmp_path / "old.json"
    write_result(result, path)
    rewritten(path, as_version_5)
    read = read_result(path)
    assert "goal" not in read.settings
    [verdict] = read.cases[0].verdicts
    assert verdict.comparison.running_time_ratio == verdict.comparison.search_ratio
    assert [gate.turn for gate in verdict.gates] == [None, None]


def test_a_goal_that_was_chosen_stays(result, tmp_path):
    path = tmp_path / "old.json"
    write_result(result, path)
    rewritten(path, as_version_5)
    rewritten(path, lambda data: data["settings"].update(goal="90%"))
    assert read_result(path).settings["goal"] == "90%"
