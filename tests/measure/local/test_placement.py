"""A kernel's threads share no core that they need not share."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local import worker_main
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.local.worker_main import WorkerMain, _place_threads
from pytest_ansorbench.measure.noise_probe import steady_kernel
from pytest_ansorbench.measure.program import Program
from tests.bound import bound_to_one_cpu, takes_two_cpus

pytestmark = takes_two_cpus


def affinities(pid):
    """Cores of each thread of a process, the first thread first."""
    threads = {int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()}
    return [os.sched_getaffinity(thread) for thread in (pid, *threads - {pid})]


def test_the_calling_thread_is_told_by_the_number_of_its_process(monkeypatch):
    """Which is not the least once numbers have begun again."""
    pid, placed = os.getpid(), []
    monkeypatch.setattr(os, "listdir", lambda path: [str(pid - 1), str(pid)])
    monkeypatch.setattr(os, "sched_setaffinity", lambda *given: placed.append(given))
    _place_threads([5, 6])
    assert placed == [(pid, {5}), (pid - 1, {6})]


def test_the_calling_thread_is_placed_before_anything_is_timed(monkeypatch):
    done = []
    monkeypatch.setattr(worker_main, "_place_threads", lambda cores: done.append("placed"))
    worker = WorkerMain(None, None, [], "")
    worker._compiled = SimpleNamespace(
        call=lambda: done.append("call"), time=lambda *given: done.append("time")
    )
    worker.time(1, 10, 0)
    assert done == ["call", "placed", "time"]


@pytest.mark.parametrize("first", ["call", "time"])
def test_the_calling_thread_keeps_off_the_cores_of_the_pool(engine, first):
    [built] = engine.build([Program.operator(steady_kernel())], None)
    worker = built.handle
    worker.allow(30.0)
    worker.make_arguments()
    if first == "call":
        worker.first_call()
    else:
        worker.time(1)
    caller, *pool = affinities(worker.child.pid)
    assert pool
    assert all(len(cores) == 1 for cores in pool)
    assert not caller & set().union(*pool)
    assert caller | set().union(*pool) <= os.sched_getaffinity(0)
    engine.discard(built)


def test_threads_stay_on_the_cpus_that_this_process_is_bound_to():
    target = resolve_target('{"kind": "llvm", "num-cores": 2}')
    with bound_to_one_cpu() as cpu, LocalEngine(target) as engine:
        [built] = engine.build([Program.operator(steady_kernel())], None)
        worker = built.handle
        worker.allow(30.0)
        worker.make_arguments()
        worker.first_call()
        assert affinities(worker.child.pid) == [{cpu}, {cpu}]
        engine.discard(built)
