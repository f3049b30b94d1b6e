"""A kernel's threads share no core that they need not share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_ansorbench.measure.noise_probe import steady_kernel
from pytest_ansorbench.measure.program import Program

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="takes two cores that threads can be bound to",
)


def affinities(pid):
    """Cores of each thread of a process, the first thread first."""
    threads = sorted(int(path.name) for path in Path(f"/proc/{pid}/task").iterdir())
    return [os.sched_getaffinity(thread) for thread in threads]


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
