"""Is a network that stock TVM compiles from an exported database as fast as the bench said?

    python benchmarks/exported.py [--case ID] [--trials N/task] [--into FOLDER]

Tunes the network once, keeps the result in docs/results/exported/, and exports its schedules
(`ansor-bench export`). Stock `compile_relax` compiles the network with that database, in the same
process as the network with the result's schedules in their places, as the bench builds it. Both
run in turn. `untuned` is stock TVM with an empty database, which takes seconds an inference and is
run once a turn, in the first turns alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from sessions import RESULTS, bench
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.lowering import network_executable
from pytest_ansorbench.records import Result
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.winners import winners_of
from pytest_ansorbench.workloads.networks.apply import with_schedules
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.networks.to_relax import to_relax

if TYPE_CHECKING:
    from tvm.relax import VirtualMachine
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.target import Target

TURNS: Final = 30
INFERENCES_A_TURN: Final = 10
BUSY_S: Final = 0.5
"""Threads of a library wait busily for its next call, a fifth of a second and more."""
SLOW_S: Final = 0.5
"""From here on, one inference in each of the first turns is enough."""
SLOW_TURNS: Final = 3


def main() -> None:
    """Tune unless that was done, export, compile, measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default="resnet18-n1-s224")
    parser.add_argument("--trials", default="8/task")
    parser.add_argument("--into", type=Path, default=RESULTS / "exported")
    given = parser.parse_args()
    result = given.into / f"{given.case}.json.gz"
    if not result.exists():
        bench(
            result,
            case=given.case,
            strategy="draft",
            trials=given.trials,
            round=8,
            repeats=1,
            max_early_search_ratio="none",
            min_throughput_ratio="none",
        )
    print(compared(given.case, result))


def compared(name: str, path: Path) -> str:
    """Latencies of all builds of the network, in turn."""
    import tvm
    from tvm.s_tir.meta_schedule.database import JSONDatabase, MemoryDatabase

    case, target = workloads.get(name), resolve_target(None)
    if not isinstance(case, Network):
        raise SystemExit(f"bad --case {name!r}: expected a network of the package")
    register_intrinsics(target)
    # TVM's own default is half of the cores.
    os.environ["TVM_NUM_THREADS"] = str(target.attrs["num-cores"])
    result = read_result(path)
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        database = str(Path(folder) / "database")
        command = ["export", str(path), "--database", database]
        subprocess.run([sys.executable, "-m", "pytest_ansorbench.cli", *command], check=True)
        machines = {
            "the bench's own build": bench_build(case, result, target),
            "stock, exported database": stock(case, JSONDatabase(work_dir=database), target),
            "stock, untuned": stock(case, MemoryDatabase(), target),
        }
    tensors = [tvm.runtime.tensor(array) for array in case.arguments()]
    seconds = measured(
        {name: partial(machine["main"], *tensors) for name, machine in machines.items()}
    )
    [run] = result.cases[0].runs
    assert run.final is not None and run.final.latency_s is not None
    rows = [["as the bench said", f"{1e3 * run.final.latency_s:.3f}", ""]]
    own_s = median(seconds["the bench's own build"])
    for build, samples in seconds.items():
        own = seconds["the bench's own build"]
        if len(samples) == len(own):
            over = median(one / other for one, other in zip(samples, own, strict=True))
        else:
            over = median(samples) / own_s
        rows.append([build, f"{1e3 * median(samples):.3f}", f"{over:.3f}"])
    said = own_s / run.final.latency_s
    table = tabulate(rows, ("build", "latency (ms)", "over the bench's own"), disable_numparse=True)
    title = f"{name}, {len(run.trials)} trials of {run.strategy}"
    return f"{title}\n{table}\nthe bench's own build, now over then: {said:.3f}"


def bench_build(case: Network, result: Result, target: Target) -> VirtualMachine:
    """The network with the result's schedules in their places."""
    import tvm
    from tvm import relax

    tasks = case.tasks()
    found: dict[int, Any] = {one.place: one.candidate().mod for one in winners_of(result)}
    scheduled = [found.get(place) for place in range(len(tasks))]
    program = with_schedules(case.program(), tasks, scheduled)
    return relax.VirtualMachine(network_executable(program, target), tvm.cpu())


def stock(case: Network, database: Database, target: Target) -> VirtualMachine:
    """The network as stock TVM legalizes, fuses and compiles it."""
    import tvm
    from tvm import relax
    from tvm.s_tir.meta_schedule.relax_integration import compile_relax

    layers = to_relax(case.graph())
    return relax.VirtualMachine(compile_relax(database, layers, target, None), tvm.cpu())


def measured(inferences: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Seconds of each inference, one entry a turn."""
    seconds: dict[str, list[float]] = {name: [] for name in inferences}
    for turn in range(TURNS):
        order = list(inferences) if turn % 2 == 0 else list(inferences)[::-1]
        for name in order:
            slow = turn > 0 and seconds[name][0] > SLOW_S
            if slow and turn >= SLOW_TURNS:
                continue
            infer = inferences[name]
            time.sleep(BUSY_S)
            infer()
            calls = 1 if slow or turn == 0 else INFERENCES_A_TURN
            started_s = time.perf_counter()
            for _ in range(calls):
                infer()
            seconds[name].append((time.perf_counter() - started_s) / calls)
    return seconds


if __name__ == "__main__":
    main()
