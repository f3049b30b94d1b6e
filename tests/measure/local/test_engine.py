"""The engine on this machine: what a program may do to it, and what that costs: this one trial."""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.workloads.case import Surroundings
from tests.faults import Doubling, counting, kernel, module
from tests.interpreters import WITHOUT_TORCH
from tests.measure.engine_contract import QUICK, Comparing, EngineContract, TurnsContract, measured
from tests.measure.local.processes import gone, server, workers

NEVER_BEATEN_S = 1e-12


@pytest.fixture(scope="module")
def task():
    return Doubling().tasks()[0]


class TestContract(EngineContract):
    """What every engine has to do."""


class TestTurns(TurnsContract):
    """How programs take turns."""


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("unbuildable", "build-error", "not implemented"),
        ("crash", "run-error", "SIGABRT"),
        ("trash", "run-error", "worker died of SIG"),
        ("overrun", "wrong-result", "outside of its output"),
        ("greedy", "run-error", "bad_alloc"),
        ("wrong", "wrong-result", "64 of 64 elements differ"),
    ],
)
def test_a_faulty_kernel_fails_alone(engine, task, kind, status, reason):
    restarts, pid = engine.restarts, engine.server_pid
    before, faulty, after = measured(engine, ["fine", kind, "fine"], task.check)
    assert (before.status, after.status) == ("ok", "ok")
    assert faulty.status == status
    assert reason in faulty.error
    assert faulty.latencies_s == ()
    assert (engine.restarts, engine.server_pid) == (restarts, pid)


def bulky():
    """A kernel whose object file is larger than what a child may write to a file."""
    from tvm import IRModule, tirx
    from tvm.ir import StringImm

    function = module("fine")["main"]
    bulk = StringImm("@bulk = constant [2000000 x i8] zeroinitializer\n")
    body = tirx.AttrStmt(tirx.const(0), "pragma_import_llvm", bulk, function.body)
    return Program.operator(IRModule({"main": function.with_body(body)}))


def test_to_tell_the_size_of_an_object_file_costs_no_kernel(engine, task):
    [built] = engine.build([bulky()], task.check)
    limits = resource.prlimit(built.handle.child.pid, resource.RLIMIT_FSIZE)
    assert engine.code_bytes(built) > 2_000_000 > limits[0]
    assert resource.prlimit(built.handle.child.pid, resource.RLIMIT_FSIZE) == limits
    assert engine.run(built, QUICK).status == "ok"


def test_to_tell_the_size_has_a_limit_of_its_own(engine, task):
    [built] = engine.build([kernel("fine")], task.check)
    built.handle.patience_s = 0.0  # its compilation took all of it
    assert engine.code_bytes(built) is not None
    engine.discard(built)


def test_a_kernel_that_hangs_fails_alone(engine, patience, task):
    test_a_faulty_kernel_fails_alone(engine, task, "hang", "run-timeout", "after 1 s")


def test_a_batch_may_have_a_limit_of_its_own(engine, task):
    kinds = ["endless-build", "fine", "endless-build"]
    built = engine.build([kernel(kind) for kind in kinds], task.check, limit_s=1.0)
    assert [one.status for one in built] == ["build-timeout", "ok", "build-timeout"]
    assert "after 1 s" in built[0].error
    assert all(1.0 <= built[at].build_s < 3 for at in (0, 2))
    engine.discard(built[1])


def test_candidates_that_stall_together_cost_one_patience(engine, task, monkeypatch):
    """Their own is no longer than that of all, and they fail alone."""
    restarts, pid = engine.restarts, engine.server_pid
    brief = dataclasses.replace(engine._builder._settings, build_timeout_s=1)
    monkeypatch.setattr(engine._builder, "_settings", brief)
    monkeypatch.setattr(engine._builder, "_at_a_time", 3)
    kinds = [*["endless-build"] * 3, "fine"]
    started = time.monotonic()
    built = engine.build([kernel(kind) for kind in kinds], task.check, limit_s=60.0)
    assert [one.status for one in built] == [*["build-timeout"] * 3, "ok"]
    assert "after 1 s" in built[0].error
    assert engine.run(built[3], QUICK).status == "ok"
    assert time.monotonic() - started < 1 + 2
    assert (engine.restarts, engine.server_pid) == (restarts, pid)


def test_a_compilation_that_devours_memory_is_an_error_before_it_is_a_timeout(task):
    settings = EngineSettings(memory_limit_mb=200, build_timeout_s=60)
    with LocalEngine(resolve_target(None), settings) as engine:
        devouring, fine = measured(engine, ["endless-build", "fine"], task.check)
        assert devouring.status == "build-error"
        assert devouring.error
        assert fine.status == "ok"


def test_by_default_only_a_would_be_winner_is_checked(engine, task):
    [loser] = measured(engine, ["wrong"], task.check, best_s=NEVER_BEATEN_S)
    [winner] = measured(engine, ["wrong"], task.check, best_s=1.0)
    assert (loser.status, winner.status) == ("ok", "wrong-result")


def test_on_request_every_candidate_is_checked(in_network, task):
    [loser] = measured(in_network, ["wrong"], task.check, best_s=NEVER_BEATEN_S)
    assert loser.status == "wrong-result"


def test_processes_end_with_their_trial(engine, task):
    built = engine.build([kernel("fine"), kernel("fine")], task.check)
    assert len(server(engine).children()) == 2
    engine.run(built[0], QUICK)
    assert len(server(engine).children()) == 1
    engine.discard(built[1])
    assert not server(engine).children()


def test_the_server_keeps_to_one_thread(engine, task):
    measured(engine, ["fine"], task.check)
    assert server(engine).num_threads() == 1


def test_a_candidate_killed_from_outside_fails_alone(engine, task):
    built = engine.build([kernel("fine")] * 3, task.check)
    os.kill(built[1].handle.child.pid, signal.SIGKILL)
    outcomes = [engine.run(program, QUICK) for program in built]
    assert [outcome.status for outcome in outcomes] == ["ok", "run-error", "ok"]
    assert "SIGKILL" in outcomes[1].error


def test_an_untuned_program_killed_from_outside_is_run_again(engine, task, tmp_path):
    calls = tmp_path / "calls"
    calls.touch()

    def kill():
        while not calls.stat().st_size:
            time.sleep(0.001)
        workers(engine)[-1].kill()

    killer = threading.Thread(target=kill)
    killer.start()
    computed = engine.outputs(counting(calls, sleep_us=200_000), task.check)
    killer.join()
    np.testing.assert_allclose(*computed.given, task.check.expected, rtol=1e-6)
    assert computed.call_s >= 0.2
    assert calls.stat().st_size == 3  # one that was cut short, and one with each inputs


@pytest.mark.parametrize("moment", ["before the build", "before the run"])
def test_a_server_killed_from_outside_costs_no_candidate(engine, task, moment):
    restarts = engine.restarts
    if moment == "before the build":
        server(engine).kill()
    built = engine.build([kernel(kind) for kind in ("fine", "wrong", "fine")], task.check)
    if moment == "before the run":
        server(engine).kill()
    statuses = [engine.run(program, QUICK).status for program in built]
    assert statuses == ["ok", "wrong-result", "ok"]
    assert engine.restarts == restarts + 1
    assert len(server(engine).children()) == 0


def beside(engine, incumbent, kind, check):
    """Run a kernel beside an incumbent; the outcome, and whether they were compared."""
    policy = Comparing()
    [built] = engine.build([kernel(kind)], check)
    outcome = engine.run(built, policy, best_s=1.0, incumbent=incumbent)
    return outcome, isinstance(policy.asked[0], tuple) if policy.asked else None


def kill_server(engine):
    """Kill the server and wait until its children are gone, too."""
    victims = [server(engine), *server(engine).children()]
    victims[0].kill()
    gone([victim.pid for victim in victims])


def led(engine, check):
    """A program that took the lead, as it is kept."""
    [built] = engine.build([kernel("fine")], check)
    return engine.run(built, Comparing()).kept


def test_a_server_killed_once_outputs_are_there_is_replaced(engine, task, monkeypatch):
    restarts, outputs = engine.restarts, Worker.outputs

    def then_killed(program):
        found = outputs(program)
        if engine.restarts == restarts:
            kill_server(engine)
        return found

    monkeypatch.setattr(Worker, "outputs", then_killed)
    computed = engine.outputs(kernel("fine"), task.check)
    np.testing.assert_allclose(*computed.given, task.check.expected, rtol=1e-6)
    assert engine.restarts == restarts + 1


def test_an_incumbent_sleeps_in_its_process_until_it_is_discarded(engine, task):
    incumbent = led(engine, task.check)
    [process] = server(engine).children()
    assert process.pid == incumbent.handle.child.pid
    outcome, were_compared = beside(engine, incumbent, "fine", task.check)
    assert were_compared
    assert outcome.peak_memory_mb > 0
    assert len(server(engine).children()) == 2
    engine.discard(outcome.kept)
    engine.discard(incumbent)
    assert not server(engine).children()


@pytest.mark.parametrize(
    ("kind", "status"), [("crash", "run-error"), ("hang", "run-timeout"), ("wrong", "wrong-result")]
)
def test_a_candidate_that_fails_beside_the_incumbent_fails_alone(
    engine, patience, task, kind, status
):
    incumbent = led(engine, task.check)
    outcome, _ = beside(engine, incumbent, kind, task.check)
    assert (outcome.status, outcome.lost_incumbent, outcome.kept) == (status, False, None)
    again, were_compared = beside(engine, incumbent, "fine", task.check)
    assert (again.status, were_compared) == ("ok", True)
    for kept in (incumbent, again.kept):
        engine.discard(kept)
    assert not server(engine).children()


def test_an_incumbent_killed_from_outside_costs_no_trial(engine, task):
    incumbent, restarts = led(engine, task.check), engine.restarts
    os.kill(incumbent.handle.child.pid, signal.SIGKILL)
    outcome, were_compared = beside(engine, incumbent, "fine", task.check)
    assert (outcome.status, outcome.lost_incumbent, were_compared) == ("ok", True, False)
    assert len(outcome.latencies_s) == 4  # measured alone
    assert engine.restarts == restarts
    for kept in (incumbent, outcome.kept):
        engine.discard(kept)
    assert not server(engine).children()


@pytest.mark.parametrize("kind", ["crash", "hang"])
def test_an_incumbent_that_fails_costs_no_trial(engine, patience, task, kind):
    [incumbent] = engine.build([kernel(kind)], task.check)
    outcome, were_compared = beside(engine, incumbent, "fine", task.check)
    assert (outcome.status, outcome.lost_incumbent, were_compared) == ("ok", True, False)
    for kept in (incumbent, outcome.kept):
        engine.discard(kept)
    assert not server(engine).children()


@pytest.mark.parametrize("moment", ["before the build", "before the run"])
def test_a_server_killed_from_outside_costs_the_incumbent_only(engine, task, moment):
    incumbent, restarts = led(engine, task.check), engine.restarts
    if moment == "before the build":
        kill_server(engine)
    built = engine.build([kernel("fine")] * 2, task.check)
    if moment == "before the run":
        kill_server(engine)
    outcomes = [
        engine.run(program, Comparing(), best_s=1.0, incumbent=incumbent) for program in built
    ]
    assert [outcome.status for outcome in outcomes] == ["ok", "ok"]
    assert [outcome.lost_incumbent for outcome in outcomes] == [True, True]
    assert engine.restarts == restarts + 1
    for kept in (incumbent, *(outcome.kept for outcome in outcomes)):
        engine.discard(kept)
    assert not server(engine).children()


def test_with_cold_caches_cores_exchange_nothing(cold):
    assert cold.observe().exchanged_bytes_s is None


def test_with_cold_caches_nothing_is_kept(cold, task):
    incumbent, built = cold.build([kernel("fine")] * 2, task.check)
    outcome = cold.run(built, Comparing(), best_s=1.0, incumbent=incumbent)
    assert (outcome.status, outcome.kept, outcome.lost_incumbent) == ("ok", None, False)
    cold.discard(incumbent)


def test_kernels_can_be_pinned_and_find_cold_caches_and_closing_ends_all_processes(task):
    cores = tuple(sorted(os.sched_getaffinity(0))[:2])
    settings = EngineSettings(cores=cores, flush_cache_mb=8)
    with LocalEngine(resolve_target(None), settings) as engine:
        assert set(server(engine).cpu_affinity()) == set(cores)
        [outcome] = measured(engine, ["fine"], task.check)
        built = engine.build([kernel("fine")], task.check)
        pids = [engine.server_pid, built[0].handle.child.pid]
        assert all(psutil.pid_exists(pid) for pid in pids)
    gone(pids)
    assert outcome.status == "ok"
    # A copy of 8 MB precedes each call, and is not part of it.
    assert outcome.run_s > 100 * statistics.median(outcome.latencies_s)


def test_kernels_find_the_caches_as_their_network_leaves_them(in_network, task):
    around = Surroundings(given=(), touched_bytes=8_000_000)
    kinds = ("fine", "fine", "wrong")
    programs = [dataclasses.replace(kernel(kind), surroundings=around) for kind in kinds]
    built = in_network.build(programs, task.check)
    # The policy of the strategy would have had 3 samples.
    contender = in_network.run(built[0], QUICK)
    loser = in_network.run(built[1], QUICK, best_s=1e-12)
    assert (contender.status, len(contender.latencies_s)) == ("ok", 25)
    assert (loser.status, len(loser.latencies_s)) == ("ok", 5)
    assert in_network.run(built[2], QUICK, best_s=1.0).status == "wrong-result"
    [alone] = measured(in_network, ["fine"], task.check)
    assert (alone.status, len(alone.latencies_s)) == ("ok", 3)


def test_within_a_network_a_slice_is_a_call(in_network, task):
    around = Surroundings(given=(0,), touched_bytes=1_000_000)
    program = dataclasses.replace(kernel("fine"), surroundings=around)
    effort = SideBySide(turns=Span(2, 2), sets=Span(1, 1), precision=0.0, slice_ms=0.1)
    [outcome] = in_network.measure_side_by_side([program], task.check, effort)
    assert (outcome.status, len(outcome.latencies_s)) == ("ok", 2)


def test_a_kernel_that_hangs_does_not_outlive_the_server(engine, patience, task):
    [built] = engine.build([kernel("hang")], task.check)
    victims = [engine.server_pid, built.handle.child.pid]
    killer = threading.Timer(0.5, os.kill, (victims[0], signal.SIGKILL))  # it sleeps by then
    killer.start()
    # It is run once more.
    assert engine.run(built, QUICK).status == "run-timeout"
    killer.join()
    gone(victims)


@pytest.mark.slow
def test_a_kernel_that_hangs_does_not_outlive_the_parent():
    script = """
        import threading
        from pytest_ansorbench.environment import resolve_target
        from pytest_ansorbench.measure.local.engine import LocalEngine
        from pytest_ansorbench.measure.policy import FixedMeasurement
        from tests.faults import Doubling, kernel
        task = Doubling().tasks()[0]
        engine = LocalEngine(resolve_target(None))
        engine.start()
        [built] = engine.build([kernel("hang")], task.check)
        print(engine.server_pid, built.handle.child.pid, flush=True)
        engine.run(built, FixedMeasurement())
        """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[3],
        env=WITHOUT_TORCH,
    ) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        time.sleep(0.5)  # the kernel sleeps by now
        parent.kill()
        gone(pids)


@pytest.mark.slow
def test_where_no_file_can_be_written_a_search_finishes_all_the_same():
    script = """
        import resource
        from pytest_ansorbench.environment import resolve_target
        from pytest_ansorbench.measure.local.engine import LocalEngine
        from pytest_ansorbench.measure.intrinsics import register_intrinsics
        from pytest_ansorbench.search import Search
        from tests.faults import Doubling
        from tests.proposers import scripted
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # as on a full disk
        target = resolve_target(None)
        register_intrinsics(target)
        strategy = scripted(("fine", "crash"), ("fine",))
        with LocalEngine(target) as engine:
            search = Search(
                Doubling(), Doubling().tasks(), strategy, engine,
                seed=0, budget_trials=3, round_trials=2,
            )
            while not search.finished:
                search.step()
            print(*(trial.status for trial in search.trials))
        """
    completed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[3],
        env={**WITHOUT_TORCH, "TMPDIR": "/nonexistent"},
    )
    assert completed.stdout.split() == ["ok", "run-error", "ok"], completed.stderr
