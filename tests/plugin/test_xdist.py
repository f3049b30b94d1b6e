"""Replays under pytest-xdist: workers judge what they have, and the first process tells it all."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_ansorbench.options.settings import FileSettings, Settings
from pytest_ansorbench.plugin import workers
from pytest_ansorbench.plugin.searches import Searches
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.storage import write_result
from tests.plugin.conftest import beside_another
from tests.plugin.project import CONFTEST, SAVED_CASES
from tests.plugin.test_replay import table
from tests.saved_cases import SAVED, result_of


def test_cases_suite_and_comparison_are_told_and_judged_as_without(everything):
    write_result(result_of(SAVED, seconds_per_trial=0.25), everything.root / "before.json")
    outcome = everything.bench(
        "--ansor-replay=saved.json",
        "--ansor-max-early-search-ratio=0.9",
        "--ansor-max-suite-search-ratio=0.2",
        "--ansor-min-suite-throughput-ratio=0.9",
        "--ansor-compare=before.json",
        "--ansor-compare-fail=suite_search_ratio:10%",
        "--ansor-json=out.json",
        "-n2",
    )
    assert outcome.code == 1, outcome.text
    assert "1 failed, 3 passed" in outcome.out
    rows = [line.split()[:2] for line in table(outcome.out).splitlines()[2:8]]
    assert rows == [[case, name] for case in ("a", "b", "c") for name in ("default", "fast")]
    assert outcome.out.count("throughput_ratio  ") == 4  # one of all cases
    assert "benchmark 'a'" not in outcome.out
    assert "suite of 3 cases, fast against default: search ratio S = 0.50" in outcome.out
    assert "all cases, fast against the earlier result: search_ratio now over before = 2.0" in (
        outcome.out
    )
    result = everything.json("out.json")
    assert [case["case"] for case in result["cases"]] == ["a", "b", "c"]
    assert all(len(case["runs"]) == 10 for case in result["cases"])
    [suite] = result["suites"]
    assert suite["cases"] == ["a", "b", "c"]
    assert [gate["outcome"] for gate in suite["gates"]] == ["broken", "holds"]


@pytest.mark.parametrize(
    ("words", "repeats", "lost", "outcome"),
    [
        (["-n1"], 5, [], "holds"),
        # The suite has a process of its own, and its gate asks for more repeats.
        (["-n2", "--dist=loadfile"], 1, ["test_cases.py::test_body"], "undecided"),
    ],
)
def test_a_case_that_a_test_names_in_its_body_is_in_the_suite_or_lost(
    everything, words, repeats, lost, outcome
):
    saved = result_of(SAVED)
    cases = [
        replace(case, runs=tuple(run for run in case.runs if run.seed < repeats))
        for case in saved.cases
    ]
    usual = replace(saved, cases=tuple(cases), settings={**saved.settings, "repeats": "5+10"})
    write_result(usual, everything.root / "saved.json")
    body = "def test_body(ansor_bench):\n    ansor_bench(SAVED[2])\n"
    everything.write("test_cases.py", SAVED_CASES.format(cases="SAVED[:2]") + body)
    session = everything.bench(
        *("--ansor-replay=saved.json", "--ansor-max-suite-search-ratio=0.9"),
        *("--ansor-json=out.json", *words),
    )
    assert session.code == 0, session.text
    assert "4 passed" in session.out
    result = everything.json("out.json")
    assert [case["case"] for case in result["cases"]] == ["a", "b", "c"]
    assert result["lost"] == lost
    [suite] = result["suites"]
    assert [gate["outcome"] for gate in suite["gates"]] == [outcome]


def test_what_processes_have_to_say_is_told_once(everything):
    everything.replace("test_cases.py", "bench()", "bench(min_throughput_ratio=2)")
    words = ("--ansor-replay=saved.json", "--ansor-strategy=default", "--ansor-shard=1/1")
    outcome = everything.bench(*words, "-n2")
    assert outcome.code == 0, outcome.text
    lines = outcome.out.splitlines()
    assert "not asked for, as default names no challenger: min_throughput_ratio (3 tests)" in lines
    assert len([line for line in lines if line.startswith("shard 1/1: ")]) == 1


@pytest.mark.parametrize(
    ("ends", "code", "cases", "told"),
    [("raise KeyboardInterrupt", 2, ["a", "b", "c"], False), ("os._exit(1)", 1, [], True)],
)
def test_a_process_that_stops_is_taken_over_once_and_one_that_dies_is_told(
    everything, ends, code, cases, told
):
    everything.write("test_end.py", f"import os\n\ndef test_end():\n    {ends}\n")
    outcome = everything.bench(
        *("--ansor-replay=saved.json", "--ansor-json=out.json", "-n1", "--max-worker-restart=0"),
        *("test_cases.py", "test_end.py"),
    )
    assert outcome.code == code, outcome.text
    assert ("what process gw0 has run is missing: it died" in outcome.out) == told
    written = everything.json("out.json")["cases"] if cases else []
    assert [case["case"] for case in written] == cases


GIVES_UP = """
from contextlib import ExitStack
from tests.plugin.conftest import measuring_fast

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        stack = ExitStack()
        stack.enter_context(measuring_fast(compiles=False, fails_at=9))
        config.add_cleanup(stack.close)
"""


def test_what_processes_have_run_in_part_is_not_saved(project):
    """The engine of the only one gives up in its second case."""
    project.write("conftest.py", CONFTEST + GIVES_UP)
    outcome = beside_another(project).bench("-n1", "--ansor-save=main", "--ansor-json=out.json")
    assert outcome.code == 1, outcome.text
    assert "the measurement engine gave up: planted" in outcome.out
    assert [case["case"] for case in project.json("out.json")["cases"]] == ["doubling"]
    assert "not saved: --ansor-save: not all has run yet" in outcome.out
    assert not [*(project.root / ".ansor_bench").glob("*.json")]


def test_a_result_that_could_not_be_written_is_in_the_journals_of_processes(project):
    project.write("conftest.py", CONFTEST + GIVES_UP.replace("compiles=False, fails_at=9", ""))
    outcome = project.bench("-n1", "--ansor-json=/dev/full")
    assert outcome.code == 1, outcome.text
    assert "a process's part of it: --ansor-resume=0001" in outcome.out
    again = project.bench("--ansor-resume=0001", "--ansor-json=result.json")
    assert again.code == 0, again.text
    assert len(project.json("result.json")["cases"]) == 1


LAST_LOOK_FAILS = """
import pytest
from pytest_ansorbench.bench import Session
from pytest_ansorbench.storage.entries import EndEntry
from tests.disks import files_of_at_most

def on_a_full_disk(session):
    with files_of_at_most(10):
        session._journal.append(EndEntry(1))

def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        patch = pytest.MonkeyPatch()
        patch.setattr(Session, "finish", on_a_full_disk)
        session.config.add_cleanup(patch.undo)
"""


def test_a_last_look_of_a_process_that_does_not_fit_fails_the_session(project):
    fast = GIVES_UP.replace("compiles=False, fails_at=9", "")
    project.write("conftest.py", CONFTEST + fast + LAST_LOOK_FAILS)
    outcome = project.bench("-n1", "--ansor-save=main")
    assert outcome.code == 1, outcome.text
    assert "to go on where this stopped: --ansor-resume=0001" in outcome.out
    assert not [*(project.root / ".ansor_bench").glob("*.json")]


def test_what_does_not_fit_other_processes_is_told_and_the_rest_kept(pytestconfig, tmp_path):
    settings = Settings(files=FileSettings(storage=tmp_path))
    searches = Searches(pytestconfig, settings, [])
    assert not searches.take_over(Handed(whole=result_of(SAVED[:2])))
    [why] = searches.take_over(Handed(whole=result_of(SAVED[1:])))
    assert "both have the run of default on b with seed 0; they cannot be merged" in why
    assert [case.case for case in searches.result().cases] == ["a", "b", "c"]


@pytest.mark.parametrize(("tests", "share"), [(1, 1), (4, 1), (5, 2), (9, 3)])
def test_what_is_left_is_shared_out_among_processes(tests, share):
    """So is the time that is left."""
    one_of_four = SimpleNamespace(workerinput={"workerid": "gw0", "workercount": 4})
    assert workers.in_turn(one_of_four, tests) == share
    assert workers.in_turn(SimpleNamespace(), tests) == tests
