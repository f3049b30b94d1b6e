"""What a candidate may do to the engine, and what that costs: this one trial."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.fork_server import WorkerError
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.settings import EngineSettings
from tests.faults import Doubling, module

QUICK = FixedMeasurement(number=1, repeat=3, min_repeat_ms=1)
NEVER_BEATEN_S = 1e-12


@pytest.fixture(scope="module")
def task():
    return Doubling().tasks()[0]


@pytest.fixture(scope="module")
def args_info(task):
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    return ArgInfo.from_prim_func(task.mod["main"])


def measure(engine, kinds, args_info, check, best_s=None):
    built = engine.build([module(kind) for kind in kinds], check)
    return [engine.run(each, args_info, QUICK, best_s=best_s) for each in built]


def server(engine):
    return psutil.Process(engine.server_pid)


def test_a_fine_kernel_gets_as_many_samples_as_asked_for(engine, task, args_info):
    [outcome] = measure(engine, ["fine"], args_info, task.check)
    assert outcome.status == "ok"
    assert len(outcome.latencies_s) == QUICK.repeat
    assert all(0 < latency_s < 1e-3 for latency_s in outcome.latencies_s)
    assert outcome.build_s > 0
    assert outcome.run_s > sum(outcome.latencies_s)
    assert outcome.peak_memory_mb > 10


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("unbuildable", "build-error", "not implemented"),
        ("endless-build", "build-timeout", "3 s"),
        ("crash", "run-error", "SIGABRT"),
        ("trash", "run-error", "worker died of SIG"),
        ("overrun", "wrong-result", "outside of its output"),
        ("greedy", "run-error", "bad_alloc"),
        ("hang", "run-timeout", "3 s"),
        ("wrong", "wrong-result", "64 of 64 elements differ"),
    ],
)
def test_a_faulty_kernel_fails_alone(engine, task, args_info, kind, status, reason):
    restarts, pid = engine.restarts, engine.server_pid
    before, faulty, after = measure(engine, ["fine", kind, "fine"], args_info, task.check)
    assert (before.status, after.status) == ("ok", "ok")
    assert faulty.status == status
    assert reason in faulty.error
    assert faulty.latencies_s == ()
    assert (engine.restarts, engine.server_pid) == (restarts, pid)


def test_candidates_that_stall_together_cost_one_patience(engine, task, args_info):
    kinds = ["endless-build", "endless-build", "fine"]
    started = time.monotonic()
    statuses = [outcome.status for outcome in measure(engine, kinds, args_info, task.check)]
    assert statuses == ["build-timeout", "build-timeout", "ok"]
    assert time.monotonic() - started < 3 + 2


def test_a_compilation_that_devours_memory_is_an_error_before_it_is_a_timeout(task, args_info):
    settings = EngineSettings(memory_limit_mb=200, build_timeout_s=60)
    with Engine(resolve_target(None), settings) as engine:
        devouring, fine = measure(engine, ["endless-build", "fine"], args_info, task.check)
        assert devouring.status == "build-error"
        assert devouring.error
        assert fine.status == "ok"


def test_without_a_check_a_wrong_kernel_passes(engine, args_info):
    [outcome] = measure(engine, ["wrong"], args_info, None)
    assert outcome.status == "ok"


def test_by_default_only_a_would_be_winner_is_checked(engine, task, args_info):
    [loser] = measure(engine, ["wrong"], args_info, task.check, best_s=NEVER_BEATEN_S)
    [winner] = measure(engine, ["wrong"], args_info, task.check, best_s=1.0)
    assert (loser.status, winner.status) == ("ok", "wrong-result")


def test_on_request_every_candidate_is_checked(task, args_info):
    with Engine(resolve_target(None), EngineSettings(check="all")) as engine:
        [loser] = measure(engine, ["wrong"], args_info, task.check, best_s=NEVER_BEATEN_S)
    assert loser.status == "wrong-result"


def test_inputs_are_the_current_tasks(engine, task, args_info):
    other = dataclasses.replace(task.check, expected=task.check.expected * 2)
    statuses = [
        measure(engine, ["fine"], args_info, check)[0].status
        for check in (task.check, other, task.check)
    ]
    assert statuses == ["ok", "wrong-result", "ok"]


def test_a_policy_that_gives_no_sample_is_named(engine, task, args_info):
    class Idle:
        def measure(self, kernel, best_s):
            return ()

        def __repr__(self):
            return "Idle()"

    [built] = engine.build([module("fine")], task.check)
    with pytest.raises(ValueError, match=r"bad measurement policy Idle\(\)"):
        engine.run(built, args_info, Idle())
    engine.discard(built)
    engine.discard(built)
    assert not server(engine).children()


def test_anyones_policy_measures(engine, task, args_info):
    class Once:
        def measure(self, kernel, best_s):
            return (kernel.first_call(),)

    [built] = engine.build([module("fine")], task.check)
    outcome = engine.run(built, args_info, Once())
    assert outcome.status == "ok"
    assert len(outcome.latencies_s) == 1


def test_processes_end_with_their_trial(engine, task, args_info):
    built = engine.build([module("fine"), module("fine")], task.check)
    assert len(server(engine).children()) == 2
    engine.run(built[0], args_info, QUICK)
    assert len(server(engine).children()) == 1
    engine.discard(built[1])
    assert not server(engine).children()


def test_the_server_keeps_to_one_thread(engine, task, args_info):
    measure(engine, ["fine"], args_info, task.check)
    assert server(engine).num_threads() == 1


def test_a_candidate_killed_from_outside_fails_alone(engine, task, args_info):
    built = engine.build([module("fine")] * 3, task.check)
    os.kill(built[1].kernel.child.pid, signal.SIGKILL)
    outcomes = [engine.run(each, args_info, QUICK) for each in built]
    assert [outcome.status for outcome in outcomes] == ["ok", "run-error", "ok"]
    assert "SIGKILL" in outcomes[1].error


@pytest.mark.parametrize("moment", ["before the build", "before the run"])
def test_a_server_killed_from_outside_costs_no_candidate(engine, task, args_info, moment):
    restarts = engine.restarts
    if moment == "before the build":
        server(engine).kill()
    built = engine.build([module(kind) for kind in ("fine", "wrong", "fine")], task.check)
    if moment == "before the run":
        server(engine).kill()
    statuses = [engine.run(each, args_info, QUICK).status for each in built]
    assert statuses == ["ok", "wrong-result", "ok"]
    assert engine.restarts == restarts + 1
    assert len(server(engine).children()) == 0


def test_a_server_that_dies_again_and_again_ends_the_session(task, args_info):
    with Engine(resolve_target(None)) as engine:
        engine._new_server = lambda: engine._server  # it stays dead
        server(engine).kill()
        with pytest.raises(WorkerError, match="in a row"):
            measure(engine, ["fine"], args_info, task.check)


def test_winners_are_measured_again_with_gaps_kept_in_place(engine, task, args_info):
    kinds = ["fine", None, "wrong", "crash", "unbuildable"]
    winners = [None if kind is None else (module(kind), args_info) for kind in kinds]
    fine, missing, wrong, crash, unbuildable = engine.remeasure(winners, task.check, samples=2)
    assert fine.status == "ok"
    assert len(fine.latencies_s) == 2
    assert missing is None
    assert wrong.status == "wrong-result"
    assert crash.status == "run-error"
    assert unbuildable.status == "build-error"
    assert not server(engine).children()


def test_kernels_can_be_pinned_and_find_cold_caches(task, args_info):
    cores = tuple(sorted(os.sched_getaffinity(0))[:2])
    settings = EngineSettings(cores=cores, flush_cache_mb=8)
    with Engine(resolve_target(None), settings) as engine:
        assert set(server(engine).cpu_affinity()) == set(cores)
        [outcome] = measure(engine, ["fine"], args_info, task.check)
    assert outcome.status == "ok"
    # A copy of 8 MB precedes each call, and is not part of it.
    assert outcome.run_s > 100 * outcome.latencies_s[0]


def test_closing_ends_all_processes(task):
    with Engine(resolve_target(None)) as engine:
        built = engine.build([module("fine")], task.check)
        pids = [engine.server_pid, built[0].kernel.child.pid]
        assert all(psutil.pid_exists(pid) for pid in pids)
    gone(pids)


@pytest.mark.parametrize("victim", ["parent", "server"])
def test_whoever_dies_a_kernel_that_hangs_does_not_outlive_it(victim):
    script = """
        import threading
        from pytest_ansorbench.environment import resolve_target
        from pytest_ansorbench.measure.engine import Engine
        from pytest_ansorbench.measure.policy import FixedMeasurement
        from tests.faults import Doubling, module
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo
        task = Doubling().tasks()[0]
        engine = Engine(resolve_target(None))
        [built] = engine.build([module("hang")], task.check)
        print(engine.server_pid, built.kernel.child.pid, flush=True)
        engine.run(built, ArgInfo.from_prim_func(task.mod["main"]), FixedMeasurement())
        """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        time.sleep(0.5)  # the kernel sleeps by now
        os.kill(parent.pid if victim == "parent" else pids[0], signal.SIGKILL)
        gone(pids)
        parent.kill()


def test_where_no_file_can_be_written_a_search_finishes_all_the_same():
    script = """
        import resource
        from pytest_ansorbench.environment import resolve_target
        from pytest_ansorbench.measure.engine import Engine
        from pytest_ansorbench.measure.intrinsics import register_intrinsics
        from pytest_ansorbench.search import Search
        from tests.faults import Doubling
        from tests.proposers import scripted
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # as on a full disk
        target = resolve_target(None)
        register_intrinsics(target)
        strategy = scripted(("fine", "crash"), ("fine",))
        with Engine(target) as engine:
            search = Search(
                Doubling(), Doubling().tasks(), strategy, engine,
                seed=0, budget_trials=3, round_trials=2,
            )
            while not search.finished:
                search.step()
            print(*(trial.status for trial in search.record().trials))
        """
    completed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": "/nonexistent"},
    )
    assert completed.stdout.split() == ["ok", "run-error", "ok"], completed.stderr


def gone(pids):
    """Wait until processes have ended; a zombie, whose parent is still to look, has."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        alive = [pid for pid in pids if psutil.pid_exists(pid)]
        if all(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in alive):
            return
        time.sleep(0.05)
    raise AssertionError(f"still alive: {alive}")
