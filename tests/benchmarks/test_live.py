"""The judge of live campaigns: what was planted is found, and nothing else."""

from __future__ import annotations

import dataclasses
import gzip
import os
import subprocess
import sys

import pytest

from tests.bench.recorded import record
from tests.benchmarks.conftest import BENCHMARKS


@pytest.fixture
def live(import_script):
    return import_script("live")


@pytest.fixture
def session(live, tmp_path):
    """One that has left what it should: nothing runs, and there is no journal."""
    return live.Live(tmp_path, "operator")


def test_a_process_that_is_left_is_found_and_ended(live, session):
    assert live.left_running(session.mark, 0.0) == []
    command = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]
    with subprocess.Popen(
        command,
        env={**os.environ, live.MARK: session.mark},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as left:
        left.stdout.read(1)
        [told] = live.left_running(session.mark, 0.0)
        assert str(left.pid) in told
        live.end(session.mark)
    assert live.left_running(session.mark, 0.0) == []


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("tmp/ansor-x/kernel.so", "left in the temporary folder: ansor-x/kernel.so"),
        ("tmp/dask-scratch-space/global.lock", None),
        ("project/.0a1b.tmp", "left in the project: .0a1b.tmp"),
        ("project/.ansor_bench/.0001.reserved", "left in the project: .ansor_bench/.0001.reserved"),
        ("project/result.json", None),
    ],
)
def test_a_file_that_is_left_is_found(session, name, fault):
    path = session.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert [*session.faults_after_kill()] == ([fault] if fault else [])


def test_a_line_that_is_lost_is_found_wherever_the_journal_is(live):
    before = {"0001.jsonl": b"a\nb\nc\n"}
    assert [*live.lost_lines(before, {"0001.jsonl": b"a\nb\nc\nd\n"})] == []
    for after, kept in ((b"a\nc\n", 1), (b"a\nb\nd\n", 2), (b"", 0)):
        assert [*live.lost_lines(before, {"0001.jsonl": after})] == [
            f"0001.jsonl has {kept} of its 3 lines"
        ]
    assert [*live.lost_lines(before, {})] == ["0001.jsonl has 0 of its 3 lines"]


def test_a_journal_that_was_changed_is_found(session, target, tmp_path_factory):
    _, lines = record(target, tmp_path_factory.mktemp("recorded"), 1)
    journal = session.storage / "journals" / "0001.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("\n".join(lines[0]) + "\n")
    assert any("cannot be read" in fault for fault in session.faults_of_files())
    journal.write_bytes(b"")  # as a kill leaves it
    session.seen.clear()
    assert [*session.faults_of_files()] == []


def test_a_round_that_a_folder_has_lost_is_found(live, import_script, tmp_path):
    call = import_script("tunes").Tune(tmp_path, "operator")
    whole = gzip.decompress((BENCHMARKS / "faults" / "good" / "journal.jsonl.gz").read_bytes())
    journal = call.storage / "journals" / "0001.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_bytes(whole)
    assert [*call.faults_of_files()] == []
    rounds = len(call.rounds_seen)
    journal.write_bytes(whole[: whole.index(b'{"kind":"round"')])
    assert [*call.faults_of_files()] == [f"{rounds} of {rounds} rounds are lost"]
    (call.storage / "database_tuning_record.json").write_text("[")
    assert "bad folder" in [*call.faults_of_files()][-1]


def test_a_result_with_other_runs_or_trials_than_it_should_have_is_found(
    live, target, tmp_path, monkeypatch
):
    result, _ = record(target, tmp_path, 2)
    monkeypatch.setattr(live, "STRATEGIES", ("one", "two"))
    monkeypatch.setattr(live, "TRIALS", 4)

    def faults(*runs, failed=0):
        case = dataclasses.replace(result, runs=runs)
        one = type("Result", (), {"cases": (case,)})
        return [*live.wrong_result(one, "doubling", failed)]

    runs = result.runs
    assert faults(*runs) == []
    assert "expected the runs" in faults(*runs[1:])[0]
    short = dataclasses.replace(runs[0], trials=runs[0].trials[:-1])
    assert "expected trials 0 to 3" in faults(short, *runs[1:])[0]
    dead = dataclasses.replace(runs[0].trials[1], status="run-error", latencies_s=(), error="gone")
    trials = (runs[0].trials[0], dead, *runs[0].trials[2:])
    failed = dataclasses.replace(runs[0], trials=trials)
    assert "1 trials failed and not at most 0: gone" in faults(failed, *runs[1:])[0]
    assert faults(failed, *runs[1:], failed=1) == []


def test_a_stop_in_a_latency_or_in_a_round_is_found(live, import_script, target, tmp_path):
    stops = import_script("stops")
    result, _ = record(target, tmp_path, 1)

    def faults(run, of_main_s=9.0, of_others_s=0.0):
        case = dataclasses.replace(result, runs=(run, *result.runs[1:]))
        one = type("Result", (), {"cases": (case,)})
        return [*stops.impossible(one, of_main_s, of_others_s)]

    run = result.runs[0]
    assert faults(run) == []
    late = dataclasses.replace(run.trials[0], latencies_s=(0.3,), run_s=0.9)
    found = dataclasses.replace(run, trials=(late, *run.trials[1:]))
    assert faults(found) == ["one, seed 0, trial 0: 0.30 s a call"]
    long = dataclasses.replace(run.rounds[1], build_s=12.0)
    found = dataclasses.replace(run, rounds=(run.rounds[0], long))
    assert faults(found) == ["one, seed 0, round 2: 12.0 s"]
    assert faults(found, of_others_s=12.0) == []


def test_cut_sessions_come_to_the_same_bytes_and_what_is_forgotten_is_found(
    live, import_script, target, monkeypatch
):
    resumes = import_script("resumes")
    assert [outcome.told for outcome in resumes.cuts(1, 0, 0, 4)] == [""] * 4
    monkeypatch.setattr(resumes.loop, "restore", lambda state, entries: None)
    assert {outcome.verdict for outcome in resumes.cuts(1, 0, 0, 8)} == {"survived", "fault"}
