"""`--ansor-run-time`: each arm searches until its own clock says so, through the whole plugin."""

from __future__ import annotations

import pytest

from pytest_ansorbench.bench import repeat
from pytest_ansorbench.options.settings import command_line
from tests.plugin.conftest import searched_fast, with_a_case
from tests.plugin.project import RACING, rounds_in

CASES = """
import pytest
from pytest_ansorbench.workloads import BatchMatmul, Mlp

pytestmark = pytest.mark.ansor_bench(
    strategy="random,racing-random", repeats=1, round=2, final_turns=2, final_sets=1
)

def test_operator(ansor_bench):
    ansor_bench(BatchMatmul(batch=1, m=16, n=16, k=16))

def test_network(ansor_bench):
    ansor_bench(Mlp(features=16, hidden=(8, 8), classes=4))
"""
TIMED = "--ansor-run-time=0.2s"
OPERATOR = "test_cases.py::test_operator"


def with_cases(root):
    made = with_a_case(root)
    made.write("conftest.py", RACING)
    made.write("test_cases.py", CASES)
    return made


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """A project whose cases were searched for a fifth of a second, and what that printed."""
    made = with_cases(tmp_path_factory.mktemp("timed"))
    return made, searched_fast(made, TIMED, "-v")


@pytest.fixture
def project(timed, tmp_path):
    return timed[0].copy(tmp_path)


def searched_s(run):
    return [
        sum(one[f"{phase}_s"] for phase in ("propose", "build", "run", "learn"))
        for one in run["rounds"]
    ]


def test_each_run_ends_with_the_round_in_which_its_time_is_over(timed):
    result = timed[0].json("saved.json")
    assert [len(case["runs"]) for case in result["cases"]] == [2, 2]
    for case in result["cases"]:
        for run in case["runs"]:
            seconds = searched_s(run)
            assert sum(seconds[:-1]) < 0.2 <= sum(seconds)
            assert (run["run_time_s"], run["budget_trials"]) == (0.2, 1_000_000)
            assert (run["round_trials"], run["stopped"]) == (2, "")
    assert (result["settings"]["run_time_s"], result["settings"]["trials"]) == (0.2, 1_000_000)
    command = command_line(result["settings"])
    assert "--ansor-run-time 0.2" in command and "--ansor-trials" not in command
    assert "1000000" not in timed[1].out


def test_it_is_judged_again_and_compared_with_the_same_run_time(project):
    outcome = project.bench("--ansor-replay=saved.json", "--ansor-compare=saved.json")
    assert outcome.code == 0, outcome.text
    assert "run time" not in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_another_run_time_is_another_experiment(project, monkeypatch):
    monkeypatch.setattr(repeat, "MOST_DRIFT", 1e9)
    words = (OPERATOR, "--ansor-compare=saved.json", "--ansor-reference=saved.json")
    outcome = project.bench(*words, "--ansor-run-time=0.1s", "--ansor-json=other.json")
    assert outcome.code == 0, outcome.text
    assert "it had 0.2 seconds of run time and now has 0.1" in outcome.out
    assert "its runs have 1000000 trials in rounds of 2 and 0.2 s" in outcome.out
    assert project.json("other.json")["cases"][0]["runs"][0]["recorded"] is None
    same = project.bench(OPERATOR, "--ansor-reference=saved.json", TIMED, "--ansor-json=same.json")
    assert same.code == 0, same.text
    assert project.json("same.json")["cases"][0]["runs"][0]["recorded"] is not None


@pytest.mark.usefixtures("fast_engine")
def test_it_goes_on_by_its_journal_with_the_same_run_time_only(project):
    lines = project.journal_lines()
    cut = lines[: rounds_in(lines)[2] + 1]
    project.cut_journal(cut)
    refused = project.bench("--ansor-resume", "--ansor-run-time=0.4s")
    assert "was measured with run_time_s 0.2 so far, and now has 0.4" in refused.out
    project.journal().write_bytes(b"".join(cut))  # which the other case has gone on in
    outcome = project.bench("--ansor-resume", TIMED, "--ansor-json=resumed.json")
    assert outcome.code == 0, outcome.text
    then, now = (project.json(name)["cases"][0]["runs"] for name in ("saved.json", "resumed.json"))
    for before, after in zip(then, now, strict=True):
        assert after["rounds"][0] == before["rounds"][0]
        seconds = searched_s(after)
        assert sum(seconds[:-1]) < 0.2 <= sum(seconds)


@pytest.mark.usefixtures("fast_engine")
def test_marker_ini_file_and_command_line_say_how_long(project):
    project.write("pytest.ini", "[pytest]\nansor_run_time = 1h\nansor_trials = 4\n")
    outcome = project.bench(OPERATOR, "--ansor-json=both.json")
    assert outcome.code == 0, outcome.text
    for run in project.json("both.json")["cases"][0]["runs"]:
        assert (len(run["trials"]["index"]), run["run_time_s"], run["budget_trials"]) == (
            4,
            3600,
            4,
        )
    project.replace("test_cases.py", "repeats=1,", "repeats=1, run_time='0.001s',")
    outcome = project.bench(OPERATOR, "--ansor-json=brief.json")
    assert outcome.code == 0, outcome.text
    for run in project.json("brief.json")["cases"][0]["runs"]:
        assert (len(run["trials"]["index"]), run["run_time_s"]) == (2, 0.001)


@pytest.mark.usefixtures("fast_engine")
@pytest.mark.slow
def test_shards_and_repeats_that_stop_by_themselves_have_run_times_too(project):
    project.replace("test_cases.py", "repeats=1,", "")
    parts = ["1.json", "2.json"]
    for index, part in enumerate(parts, 1):
        words = (f"--ansor-shard={index}/2", "--ansor-repeats=2", f"--ansor-json={part}")
        outcome = project.bench(OPERATOR, TIMED, *words)
        assert outcome.code == 0, outcome.text
    merged = project.ansor_bench("merge", *parts, "-o", "all.json")
    assert merged.code == 0, merged.text
    assert {run["run_time_s"] for run in project.json("all.json")["cases"][0]["runs"]} == {0.2}
    gate = ("--ansor-repeats=2:3", "--ansor-min-throughput-ratio=0.01")
    outcome = project.bench(OPERATOR, TIMED, *gate, "--ansor-json=auto.json")
    assert outcome.code == 0, outcome.text
    assert 4 <= len(project.json("auto.json")["cases"][0]["runs"]) <= 6
