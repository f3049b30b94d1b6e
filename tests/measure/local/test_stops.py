"""Processes that are stopped and go on, as by Ctrl-Z or with their container."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

import pytest

from pytest_ansorbench.measure.policy import FixedMeasurement
from tests.faults import Doubling, counting, kernel

ONE_SAMPLE = FixedMeasurement(number=3, repeat=1, min_repeat_ms=1)
CALL_S = 0.1
STOP_S = 0.6


@pytest.fixture(scope="module")
def task():
    return Doubling().tasks()[0]


@pytest.fixture
def calls(tmp_path):
    path = tmp_path / "calls"
    path.touch()
    return path


def sleeping(engine, task, calls):
    """A program whose calls take a tenth of a second, and the number of its process."""
    [built] = engine.build([counting(calls, sleep_us=int(CALL_S * 1e6))], task.check)
    return built, built.handle.child.pid


def stopped_and_continued(seconds, *pids):
    """Stop processes, this one perhaps among them, and have them go on."""
    numbers = " ".join(map(str, pids))
    script = f"kill -STOP {numbers}; sleep {seconds}; kill -CONT {numbers}"
    return subprocess.Popen(["sh", "-c", script])


def test_what_is_stopped_while_it_is_timed_is_timed_again(engine, task, calls):
    built, pid = sleeping(engine, task, calls)
    stopped = []

    def stop():
        while calls.stat().st_size < 3:
            time.sleep(0.001)
        stopped.append(stopped_and_continued(STOP_S, pid).wait())

    thread = threading.Thread(target=stop)
    thread.start()
    outcome = engine.run(built, ONE_SAMPLE)
    thread.join()
    assert stopped == [0]
    assert outcome.status == "ok"
    assert max(outcome.latencies_s) < CALL_S + STOP_S / 6
    assert calls.stat().st_size >= 8  # one that does not count and three, twice


def test_a_process_that_is_found_stopped_gets_its_time_again(engine, patience, task):
    built = engine.build([kernel("fine")] * 2, task.check)
    for one in built:
        os.kill(one.handle.child.pid, signal.SIGSTOP)
    assert [engine.run(one, ONE_SAMPLE).status for one in built] == ["ok", "ok"]


def test_time_in_which_all_are_stopped_is_nobodys(engine, patience, task, calls):
    built, pid = sleeping(engine, task, calls)
    freezer = stopped_and_continued(3.0, pid, os.getpid())
    outcome = engine.run(built, ONE_SAMPLE)
    assert freezer.wait() == 0
    assert outcome.status == "ok"
