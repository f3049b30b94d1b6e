"""What a candidate may do to the engine, and what that costs: this one trial."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure import Engine, FixedMeasurement
from tests.faults import Doubling, module

QUICK = FixedMeasurement(number=1, repeat=3, min_repeat_ms=1)


@pytest.fixture(scope="module")
def task():
    return Doubling().tasks()[0]


@pytest.fixture(scope="module")
def args_info(task):
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    return ArgInfo.from_prim_func(task.mod["main"])


def measure(engine, kinds, args_info, check):
    built = engine.build([module(kind) for kind in kinds])
    return [engine.run(each, args_info, QUICK, check) for each in built]


def test_a_fine_kernel_gets_as_many_samples_as_asked_for(engine, task, args_info):
    [outcome] = measure(engine, ["fine"], args_info, task.check)
    assert outcome.status == "ok"
    assert len(outcome.latencies_s) == QUICK.repeat
    assert all(0 < latency_s < 1e-3 for latency_s in outcome.latencies_s)


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("unbuildable", "build-error", "not implemented"),
        ("endless-build", "build-timeout", "3 s"),
        ("crash", "run-error", "SIGABRT"),
        ("trash", "run-error", "worker died"),
        ("hang", "run-timeout", "3 s"),
        ("wrong", "wrong-result", "64 of 64 elements differ"),
    ],
)
def test_a_faulty_kernel_fails_alone(engine, task, args_info, kind, status, reason):
    before, faulty, after = measure(engine, ["fine", kind, "fine"], args_info, task.check)
    assert (before.status, after.status) == ("ok", "ok")
    assert faulty.status == status
    assert reason in faulty.error
    assert faulty.latencies_s == ()


def test_all_build_workers_lost_at_once(engine, task, args_info):
    kinds = ["endless-build", "endless-build", "fine"]
    statuses = [outcome.status for outcome in measure(engine, kinds, args_info, task.check)]
    assert statuses == ["build-timeout", "build-timeout", "ok"]


def test_without_a_check_a_wrong_kernel_passes(engine, args_info):
    [outcome] = measure(engine, ["wrong"], args_info, None)
    assert outcome.status == "ok"


def test_artifacts_are_removed_after_measurement(engine, task, args_info):
    [built] = engine.build([module("fine")])
    assert built.artifact.exists()
    engine.run(built, args_info, QUICK, task.check)
    assert not built.artifact.exists()


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_builder_killed_from_outside_costs_one_candidate_at_most(engine, task, args_info, jobs):
    victim = engine._builder._idle[0]  # with one job, the other worker gets it
    os.kill(victim.pid, signal.SIGKILL)
    statuses = [o.status for o in measure(engine, ["fine"] * jobs, args_info, task.check)]
    assert statuses.count("ok") >= jobs - 1
    assert set(statuses) <= {"ok", "build-error"}
    engine.refresh()
    assert len(engine._builder._idle) == 2
    statuses = [o.status for o in measure(engine, ["fine"] * 4, args_info, task.check)]
    assert statuses == ["ok"] * 4


def test_winners_are_measured_again_with_gaps_kept_in_place(engine, task, args_info):
    winner = (module("fine"), args_info)
    wrong = (module("wrong"), args_info)
    first, missing, bad = engine.remeasure([winner, None, wrong], task.check, samples=2)
    assert first.status == "ok"
    assert len(first.latencies_s) == 2
    assert missing is None
    assert bad.status == "wrong-result"


def test_worn_out_workers_are_replaced(engine, task, args_info, monkeypatch):
    monkeypatch.setattr("pytest_ansorbench.measure.runner.RUNS_PER_WORKER", 0)
    monkeypatch.setattr("pytest_ansorbench.measure.builder.BUILDS_PER_WORKER", 0)
    measure(engine, ["fine"], args_info, task.check)
    before = {engine._runner._worker.pid, *(worker.pid for worker in engine._builder._idle)}
    engine.refresh()
    after = {engine._runner._worker.pid, *(worker.pid for worker in engine._builder._idle)}
    assert not before & after
    assert not any(psutil.pid_exists(pid) for pid in before)
    [outcome] = measure(engine, ["fine"], args_info, task.check)
    assert outcome.status == "ok"


def test_closing_ends_all_processes_and_removes_all_files():
    with Engine(
        resolve_target(None), build_workers=1, build_timeout_s=30, run_timeout_s=30
    ) as short_lived:
        folder: Path = short_lived._folder
        pids = [short_lived._runner._worker.pid, short_lived._builder._idle[0].pid]
        assert folder.exists()
        assert all(psutil.pid_exists(pid) for pid in pids)
    assert not folder.exists()
    assert not any(psutil.pid_exists(pid) for pid in pids)
