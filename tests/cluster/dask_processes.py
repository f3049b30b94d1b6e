"""Schedulers and workers on loopback: Dask's own commands, with a user's arguments."""

from __future__ import annotations

import importlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.forked import forked, kill

PRELOADED = (
    "distributed.cli.dask_scheduler",
    "distributed.cli.dask_worker",
    "pytest_ansorbench.environment:check_toolchain",
    "pytest_ansorbench.measure.local.engine",
    "tests.cluster.replayed",
    "tests.faults",
)


def command(name: str, *arguments: str, cwd: Path, **variables: str) -> psutil.Process:
    return forked(f"{__name__}:run", name, arguments, preloaded=PRELOADED, cwd=cwd, **variables)


def run(name: str, arguments: list[str]) -> None:
    """Be one of Dask's commands."""
    import dask

    dask.config.refresh()  # variables are its configuration
    module = importlib.import_module(f"distributed.cli.dask_{name}")
    module.main(arguments, prog_name=f"dask {name}")


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
            kill(process)


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
