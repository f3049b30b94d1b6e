"""The child process: what it answers, how it dies, that it never outlives its parent."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from pytest_ansorbench.measure.worker import Worker, WorkerDied, WorkerTimeout


@pytest.fixture
def worker(tmp_path):
    started = Worker(tmp_path / "worker.log", threads=1, work="run")
    started.receive(120)
    yield started
    started.kill()


def test_a_bad_request_is_an_error_and_the_worker_lives_on(worker, tmp_path):
    worker.send({"op": "build", "mod": "no module", "target": "{}", "artifact": "nowhere.so"})
    assert "error" in worker.receive(30)
    worker.send({"op": "warm-up", "work": "build", "scratch": str(tmp_path / "scratch.so")})
    assert worker.receive(30) == {}


def test_death_is_reported_with_its_signal(worker):
    psutil.Process(worker.pid).terminate()
    with pytest.raises(WorkerDied, match="SIGTERM"):
        worker.receive(30)


def test_silence_is_a_timeout_and_kills(worker):
    with pytest.raises(WorkerTimeout, match=r"0\.1 s"):
        worker.receive(0.1)
    assert not psutil.pid_exists(worker.pid)


def test_a_worker_ends_with_its_parent(tmp_path):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from pathlib import Path\n"
            "from pytest_ansorbench.measure.worker import Worker\n"
            "worker = Worker(Path(sys.argv[1]), threads=1, work='run')\n"
            "print(worker.pid, flush=True); time.sleep(600)",
            str(tmp_path / "worker.log"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        parent.kill()
    deadline = time.monotonic() + 30
    while psutil.pid_exists(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not psutil.pid_exists(child)
