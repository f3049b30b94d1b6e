"""Schedulers and workers on loopback: Dask's own commands, as a user starts them.

They are forked off a process that has imported all they need, which would take each of them
seconds.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
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

PRELOADED = (
    "distributed.cli.dask_scheduler",
    "distributed.cli.dask_worker",
    "pytest_ansorbench.measure.local.engine",
    "tests.cluster.replayed",
    "tests.faults",
)


def command(name: str, *arguments: str, cwd: Path, **variables: str) -> psutil.Process:
    nursery = _nursery()
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    order = {"name": name, "arguments": arguments, "cwd": str(cwd), "variables": variables}
    nursery.stdin.write(json.dumps(order) + "\n")
    nursery.stdin.flush()
    return psutil.Process(int(nursery.stdout.readline()))


@functools.cache
def _nursery() -> subprocess.Popen[str]:
    """It ends with the process that started it."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**WITHOUT_TORCH, "TVM_NUM_THREADS": "1"},
    )


@dataclass
class Cluster:
    """A scheduler and its workers."""

    folder: Path
    scheduler: psutil.Process
    address: str = ""
    workers: dict[str, psutil.Process] = field(default_factory=dict)

    def top_up(self, count: int) -> None:
        """Start workers, named w1, w2 and so on, until so many are alive; forget the dead."""
        alive = {name: one for name, one in self.workers.items() if one.is_running()}
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
        process = self.workers[name]
        children = process.children(recursive=True) if number == signal.SIGKILL else []
        for one in (process, *children):
            one.send_signal(number)

    def end(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            with suppress(psutil.NoSuchProcess):
                for one in (*process.children(recursive=True), process):
                    with suppress(psutil.NoSuchProcess):
                        one.kill()
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


def serve() -> None:
    """Be the process that commands are forked off: one for each line of standard input."""
    for name in PRELOADED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what has ended leaves no zombie
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(**json.loads(line))
        print(child, flush=True)


def _run(name: str, arguments: list[str], cwd: str, variables: dict[str, str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.chdir(cwd)
    os.environ.update(variables)
    import dask

    dask.config.refresh()  # variables are its configuration
    module = importlib.import_module(f"distributed.cli.dask_{name}")
    module.main(arguments, prog_name=f"dask {name}")
    os._exit(0)


if __name__ == "__main__":
    serve()
