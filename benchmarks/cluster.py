"""What a cluster costs and gains: recorded rounds handed out by workers that measure nothing.

    python benchmarks/cluster.py [--blocks N] [--workers N,N] [--failing SHARE]

A real Dask scheduler and real workers, on loopback, each a process. A block hands out the entries
of docs/results/cluster/block.jsonl.gz, a repeat of two arms and 64 trials, with pauses instead of
searches; TVM is not imported. A share of the blocks kills its worker half-way, once. The session
that asks writes its journal as ever. Each line is a session in a process of its own. Blocks are
short, so that it is over in a quarter of an hour: real ones take minutes to hours, and what a block
costs stays the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import psutil
from tabulate import tabulate

from pytest_ansorbench.bench import FixedRepeats, Plan, RunPlan, Silent
from pytest_ansorbench.bench.blocks import Block
from pytest_ansorbench.bench.experiment import Experiment
from pytest_ansorbench.bench.history import CaseJournal
from pytest_ansorbench.budget import Budget, Trials
from pytest_ansorbench.cluster.executor import ClusterExecutor
from pytest_ansorbench.cluster.pool import Pool
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import TaskRecord
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import Journal, from_line, to_line
from pytest_ansorbench.storage.entries import (
    JOURNAL_VERSION,
    CaseEntry,
    SessionEntry,
)

HERE: Final = Path(__file__).parent
RECORDED: Final = HERE.parent / "docs" / "results" / "cluster" / "block.jsonl.gz"
ARMS: Final = ("racing", "draft")
TRIALS: Final = 64


def main() -> None:
    """Measure each line in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--blocks", type=int, default=1000)
    parser.add_argument("--workers", default="1,4,16,64")
    parser.add_argument("--failing", type=float, default=0.05)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(scaled(int(given.one), given.blocks, given.failing)))
        return
    words = ["--blocks", str(given.blocks), "--failing", str(given.failing)]
    rows = [asked(workers, *words) for workers in given.workers.split(",")]
    print(tabulate(rows, headers="keys", floatfmt=".3g"))


def asked(one: str, *words: str) -> dict[str, float]:
    """One line, by another process."""
    command = [sys.executable, __file__, "--one", one, *words]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    row: dict[str, float] = json.loads(out.splitlines()[-1])
    print(row, file=sys.stderr)
    return row


def recorded_lines(seed: int) -> tuple[str, ...]:
    """The recorded block as one of another seed."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return tuple(to_line(replace(from_line(line), seed=seed)) for line in lines)


@dataclass(frozen=True)
class Paused:
    """Hands out the entries of a block, with pauses; some kill their worker half-way, once."""

    lines: tuple[str, ...]
    pause_s: float
    marker: str | None

    def entries(self, watcher: object) -> Iterator[Any]:
        """See `courier.Work.entries`."""
        for place, line in enumerate(self.lines):
            if self.marker is not None and place == len(self.lines) // 2:
                try:
                    Path(self.marker).touch(exist_ok=False)
                except FileExistsError:
                    pass
                else:
                    os._exit(1)
            time.sleep(self.pause_s)
            yield from_line(line)


def identity() -> Mapping[str, Any]:
    """What all workers say of themselves."""
    machine = from_line(recorded_lines(0)[0]).machine
    return {"requirements": {}, "target": machine["target"], "machine": machine}


def scaled(workers: int, blocks: int, failing: float) -> dict[str, float]:
    """Blocks over a number of workers."""
    from distributed import Client

    block_s = max(0.5, 0.1 * workers)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address, scheduler = started(stack, folder, workers)
        client = stack.enter_context(Client(address, timeout=60.0, set_as_default=False))
        client.wait_for_workers(workers, timeout=600.0)

        def work_of(block: Block, slices_ms: Mapping[str, float]) -> Paused:
            past = block.past
            done = 1 + sum(map(len, past.rounds.values())) + len(past.rankings) if past else 0
            lines = recorded_lines(block.seed)
            fails = block.seed % round(1.0 / failing) == 0 if failing else False
            marker = str(folder / f"died-{block.seed}") if fails else None
            return Paused(lines[done:], block_s / len(lines), marker)

        notes: list[str] = []
        executor = ClusterExecutor(client, Pool(client, identity, {}), work_of, 600.0, notes.append)
        while len(executor.pool.fit) < workers:
            executor.pool.refresh()
            time.sleep(0.1)
        journal = new_journal(folder, blocks)
        used_s, scheduler_s, begun_s = time.process_time(), cpu_s(scheduler), time.monotonic()
        Experiment(recorded_block(), plan_of(blocks), executor, journal, Silent()).run()
        elapsed_s = time.monotonic() - begun_s
        used_s, scheduler_s = time.process_time() - used_s, cpu_s(scheduler) - scheduler_s
        executor.close()
        path = next(folder.glob("storage/journals/*"))
        return {
            "workers": workers,
            "blocks": blocks,
            "lost": sum("is handed out again" in note for note in notes),
            "block (s)": block_s,
            "elapsed (s)": elapsed_s,
            "speed-up": blocks * block_s / elapsed_s,
            "idle or lost (s/block)": (elapsed_s * workers - blocks * block_s) / blocks,
            "session (CPU ms/block)": 1e3 * used_s / blocks,
            "scheduler (CPU ms/block)": 1e3 * scheduler_s / blocks,
            "journal (MB)": path.stat().st_size / 1e6,
            "session (MB)": peak_mb(),
        }


def started(stack: ExitStack, folder: Path, workers: int) -> tuple[str, psutil.Process]:
    """The address of a scheduler with workers, and its process."""
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    commands = (
        ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
        (
            *("worker", "--nworkers", str(workers), "--nthreads", "1", "--no-dashboard"),
            *("--resources", "ansor_bench=1", "--host", "127.0.0.1"),
            *("--local-directory", str(folder), "--memory-limit", "0"),
        ),
    )
    processes = []
    for name, *words in commands:
        processes.append(
            subprocess.Popen(
                [
                    *(sys.executable, "-m", f"distributed.cli.dask_{name}", *words),
                    *("--scheduler-file", str(file)),
                ],
                **quiet,  # type: ignore[call-overload]
            )
        )
        stack.callback(ended, processes[-1])
        while not file.exists():
            time.sleep(0.1)
    return str(json.loads(file.read_text())["address"]), psutil.Process(processes[0].pid)


def ended(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started."""
    for one in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def cpu_s(process: psutil.Process) -> float:
    """Seconds of CPU that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def peak_mb() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def recorded_block() -> Block:
    """What all blocks of the experiment have in common."""
    arms: Any = tuple(SimpleNamespace(name=name) for name in ARMS)
    case: Any = SimpleNamespace(id="recorded")
    label = from_line(recorded_lines(0)[0]).label
    tasks: Any = (None,)
    return Block(label, case, tasks, "", arms, plan_of(1).runs, seed=0)


def plan_of(repeats: int) -> Plan:
    """The plan of the experiment."""
    runs = RunPlan(Budget(Trials(TRIALS), 32), "gradient", SideBySide())
    return Plan(runs, FixedRepeats(range(repeats)), Criteria(), Limits())


def new_journal(folder: Path, repeats: int) -> CaseJournal:
    """A journal on disk, in which the case has begun."""
    begun = from_line(recorded_lines(0)[0])
    session = SessionEntry(JOURNAL_VERSION, "2026-01-01T00:00:00+00:00", begun.machine, {}, {})
    entry = CaseEntry(
        label=begun.label,
        case="recorded",
        version="",
        strategies=ARMS,
        control=None,
        flops=1,
        tasks=(TaskRecord("task", 1, 1, ()),),
        programs=(),
        conditions={"trials": TRIALS, "round_trials": 32},
        repeats=repeats,
    )
    return CaseJournal(Journal.create(folder / "storage", session), None, entry, [])


if __name__ == "__main__":
    main()
