"""Options, one by one, for what they change."""

from __future__ import annotations

import os

import pytest

from pytest_ansorbench.records import SCHEMA_VERSION
from pytest_ansorbench.storage import read_journal
from pytest_ansorbench.storage.entries import CaseEntry
from tests.plugin.project import trials

#: Of sessions that measure for real.
SHORT = ("--ansor-trials=2", "--ansor-repeats=1", "--ansor-progress=believed")


def runs(project, *arguments, name="result.json"):
    outcome = project.bench(f"--ansor-json={name}", *arguments)
    assert outcome.code == 0, outcome.text
    return [run for case in project.json(name)["cases"] for run in case["runs"]]


def conditions(project, *names):
    """Some of what the only case of a session was measured under."""
    entries = read_journal(project.journal()).entries
    [case] = [entry for entry in entries if isinstance(entry, CaseEntry)]
    return [case.conditions[name] for name in names]


def test_help_lists_every_option_and_the_marker_has_its_own(project):
    text = project.pytest("--help").out
    for word in ("strategy", "case", "trials", "round", "repeats", "seed", "target"):
        assert f"--ansor-{word}=" in text
        assert f"ansor_{word} (string)" in text
    assert "@pytest.mark.ansor_bench(" in project.pytest("--markers").out


@pytest.mark.usefixtures("fast_engine")
def test_trials_round_repeats_and_seed(project):
    made = runs(
        project, "--ansor-trials=3", "--ansor-round=1", "--ansor-repeats=3", "--ansor-seed=7"
    )
    assert sorted({run["seed"] for run in made}) == [7, 8, 9]
    assert all(len(trials(run)) == 3 == len(run["rounds"]) for run in made)


def test_case_selects_by_id(project):
    project.write(
        "test_cases.py",
        (project.root / "test_cases.py").read_text() + "\nfrom pytest_ansorbench import workloads\n"
        "@pytest.mark.parametrize('case', workloads.SOFTMAX, ids=str)\n"
        "def test_softmax(ansor_bench, case): ansor_bench(case)\n",
    )
    outcome = project.bench("--ansor-case=doubling", "--collect-only", "-q")
    assert "test_doubling[doubling]" in outcome.out
    assert "softmax" not in outcome.out
    assert "e.g. 'softmax-m512-n512'" in project.bench("--ansor-case=softmax-m512-n51").refusal


@pytest.mark.usefixtures("fast_engine")
def test_columns_and_sort(project):
    outcome = project.bench("--ansor-columns=strategy,failed", "--ansor-sort=case")
    assert outcome.code == 0, outcome.text
    heading = next(line for line in outcome.out.splitlines() if line.startswith("strategy"))
    assert heading.split() == ["strategy", "failed"]


@pytest.mark.usefixtures("fast_engine")
def test_save_numbers_results_in_the_storage_folder(project):
    for _ in range(2):
        outcome = project.bench("--ansor-save=main", "--ansor-storage=kept", "--ansor-strategy=one")
        assert outcome.code == 0, outcome.text
    names = sorted(path.name for path in (project.root / "kept").rglob("*.json*"))
    assert names == ["0001.jsonl.gz", "0001_main.json", "0002.jsonl.gz", "0002_main.json"]
    assert f"saved: {project.root / 'kept' / '0002_main.json'}" in outcome.out


@pytest.mark.usefixtures("fast_engine")
def test_the_json_file_holds_what_reproduces_it(project):
    runs(project, "--ansor-final-turns=1:3", "--ansor-final-precision=2%")
    result = project.json("result.json")
    assert result["schema_version"] == SCHEMA_VERSION
    assert result["settings"]["final_turns"] == "1:3"
    assert result["settings"]["final_precision"] == 0.02
    [machine] = result["machines"].values()
    assert '"kind":"llvm"' in machine["target"]
    assert machine["packages"]["apache-tvm"].startswith("0.27")
    assert set(result["commit"]) >= {"id", "dirty"}


@pytest.mark.usefixtures("fast_engine")
def test_ini_twins_and_markers_from_class_and_module(project):
    ini = ("ansor_repeats = 1", "ansor_final_turns = 9", "ansor_final_sets = 1:2")
    project.write("pytest.ini", "\n".join(("[pytest]", *ini, "ansor_final_precision = 0")))
    project.write(
        "test_cases.py",
        "import pytest\nfrom tests.faults import Doubling\n"
        "pytestmark = pytest.mark.ansor_bench(trials=8, round=2, strategy='one')\n"
        "@pytest.mark.ansor_bench(trials=2, final_turns='2:3')\n"
        "def test_doubling(ansor_bench): ansor_bench(Doubling())\n",
    )
    [run] = runs(project)
    assert (run["budget_trials"], run["round_trials"]) == (2, 2)
    assert run["final"]["sets"] == [0, 0, 0, 1, 1, 1]


def test_winners_are_measured_in_slices_that_were_neighbours(project):
    one, two = runs(project, *SHORT, "--ansor-final-turns=3", "--ansor-final-sets=2")
    finals = [run["final"] for run in (one, two)]
    assert [final["sets"] for final in finals] == [[0, 0, 0, 1, 1, 1]] * 2
    assert sorted(finals[0]["places"] + finals[1]["places"]) == list(range(12))
    turns = [[place // 2 for place in final["places"]] for final in finals]
    assert turns == [[0, 1, 2, 3, 4, 5]] * 2


@pytest.mark.usefixtures("fast_engine")
def test_winners_can_be_measured_in_samples_instead(project):
    made = runs(project, "--ansor-final-samples=2")
    assert [run["final"]["sets"] for run in made] == [[0, 0]] * 2


@pytest.mark.usefixtures("fast_engine")
def test_a_strategy_from_outside_is_run_and_recorded(project):
    made = runs(project)
    assert {run["strategy"] for run in made} == {"one", "two"}
    assert made[0]["rounds"][0]["decisions"] == {"learnt": 2, "valid": 2}


@pytest.mark.usefixtures("fast_engine")
def test_the_finished_hook_is_called_with_the_result(project):
    project.write(
        "conftest.py",
        (project.root / "conftest.py").read_text()
        + "\ndef pytest_ansorbench_case_finished(config, result):\n"
        "    print('finished', result.case, len(result.runs))\n",
    )
    assert "finished doubling 2" in project.bench("-s").out


def test_check_decides_which_outputs_are_compared(project):
    project.write(
        "conftest.py",
        "from tests.proposers import scripted\n"
        "def pytest_ansorbench_strategies(config):\n"
        "    return [scripted(('fine', 'slow-and-wrong'), name='one')]\n",
    )
    [made] = runs(project, "--ansor-check=all", "--ansor-strategy=one", *SHORT)
    assert [trial["status"] for trial in trials(made)] == ["ok", "wrong-result"]


def test_flush_cache_and_cores_reach_the_engine(project):
    cores = sorted(os.sched_getaffinity(0))
    made = runs(
        project, f"--ansor-cores={','.join(map(str, cores))}", "--ansor-flush-cache=32",
        "--ansor-strategy=one", *SHORT,
    )  # fmt: skip
    assert conditions(project, "cores", "flush_cache_mb") == [cores, 32]
    # A copy of 32 MB precedes each of ten calls of a kernel that takes microseconds.
    assert all(trial["run_s"] > 0.01 for run in made for trial in trials(run))
    assert all(len(trial["latencies_s"]) == 10 for run in made for trial in trials(run))


@pytest.mark.parametrize(
    ("arguments", "caches", "flush_mb", "samples"),
    [
        (["--ansor-caches=cold"], "cold", 64, 10),
        # Operators are in no network: they are measured warm, by their strategy's policy.
        (["--ansor-caches=network"], "warm", 0, 2),
    ],
)
def test_caches(project, arguments, caches, flush_mb, samples):
    made = runs(project, *arguments, *SHORT, "--ansor-strategy=one")
    assert conditions(project, "caches", "flush_cache_mb") == [caches, flush_mb]
    assert all(len(trial["latencies_s"]) == samples for run in made for trial in trials(run))


def test_caches_that_are_not_to_be_cold_are_not_to_be_flushed(project):
    refusal = project.bench("--ansor-caches=warm", "--ansor-flush-cache=32").refusal
    assert "bad --ansor-caches 'warm': expected cold" in refusal
    assert "--ansor-flush-cache 32" in refusal


def test_verbose_tells_what_trials_and_processes_took(project):
    text = project.bench("-v", *SHORT, "--ansor-strategy=one").out
    assert "s to compile" in text
    assert "peak memory" in text
    assert "0 restarts of the fork server" in text
    assert "samples of the final kernels vary by" in text
