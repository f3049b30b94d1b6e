"""Schedulers and workers on loopback: Dask's own commands, as a user starts them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.interpreters import WITHOUT_TORCH


def command(name: str, *arguments: str, cwd: Path, **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{name}", *arguments],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**WITHOUT_TORCH, "TVM_NUM_THREADS": "1", **variables},
    )


@dataclass
class Cluster:
    """A scheduler and its workers."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    address: str = ""
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def top_up(self, count: int) -> None:
        """Start workers, named w1, w2 and so on, until so many are alive; forget the dead."""
        alive = {name: one for name, one in self.workers.items() if one.poll() is None}
        started = count - len(alive)
        last = max((int(name[1:]) for name in self.workers), default=0)
        self.workers = alive
        for number in range(last + 1, last + 1 + started):
            self.start_worker(f"w{number}")

    def start_worker(self, name: str, *arguments: str, **variables: str) -> None:
        self.workers[name] = command(
            "worker",
            *(f"tcp://{self.address}", "--name", name, "--nthreads", "1", "--no-nanny"),
            *("--no-dashboard", "--resources", "ansor_bench=1", "--host", "127.0.0.1"),
            *("--local-directory", str(self.folder), "--death-timeout", "60", *arguments),
            cwd=self.folder,
            **variables,
        )

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a worker, and if it kills to all that the worker has started."""
        process = psutil.Process(self.workers[name].pid)
        children = process.children(recursive=True) if number == signal.SIGKILL else []
        for one in (process, *children):
            one.send_signal(number)

    def end(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            try:
                children = psutil.Process(process.pid).children(recursive=True)
            except psutil.NoSuchProcess:
                children = []
            for one in (process, *children):
                with suppress(psutil.NoSuchProcess, ProcessLookupError):
                    one.send_signal(signal.SIGKILL)
            process.wait()


@contextmanager
def cluster(folder: Path, *names: str, ttl: str = "5 minutes") -> Iterator[Cluster]:
    """A scheduler, and a worker for each name.

    Args:
        folder: Where they leave their files.
        names: Names of the workers.
        ttl: How long the scheduler puts up with a worker that is silent.
    """
    from distributed.utils import json_load_robust

    # The scheduler takes a port itself and says which: one that was chosen for it could be
    # another's by the time it listens, and clients would talk to that one.
    contact = folder / "scheduler.json"
    scheduler = command(
        "scheduler",
        *("--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
        *("--scheduler-file", str(contact)),
        cwd=folder,
        DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=ttl,
    )
    started = Cluster(folder, scheduler)
    try:
        started.address = json_load_robust(contact, timeout=60.0)["address"].removeprefix("tcp://")
        for name in names:
            started.start_worker(name)
        yield started
    finally:
        started.end()


def wait_until(holds, timeout_s: float = 60.0) -> None:
    """Wait for something that another process does."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.05)
