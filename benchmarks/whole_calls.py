"""From a program to a library: TVM's own calls, and `pytest_ansorbench.tune`.

    python benchmarks/whole_calls.py [--case ID,ID] [--trials N] [--task-trials N] [--seeds N]

Each call has a process of its own. MetaSchedule's is `tune_tir` or `tune_relax` with its own
arguments, then `compile_tir` and `build` or `compile_relax`; ours is `tune` without a rewrite, by
`draft+transfer`. Both have the same trials, a network so many for each of its tasks. Seconds are
those of the call, without imports. Then both libraries are called in turn in one process: medians
of 30 turns, and of the ratios within a turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tabulate import tabulate

from pytest_ansorbench import tune, workloads
from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.workloads.networks.network import Network
from pytest_ansorbench.workloads.networks.to_relax import to_relax

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Case

CASES: Final = (
    "matmul-b1-m512-n512-k512",
    "conv1d-n1-l256-ci64-co128-k3-s2-p1",
    "depthwise-conv2d-n1-h112-w112-c32-k3-s1-p1",
    "resnet18-n1-s224",
)
TURNS: Final = 30
TURN_S: Final = 0.05
COLUMNS: Final = (
    *("trials", "seed", "MetaSchedule (s)", "tune (s)", "of it"),
    *("MetaSchedule (ms)", "tune (ms)", "times as fast"),
)


def main() -> None:
    """Run all calls, then print the table; or one of its parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--trials", type=int, default=128, help="of an operator (default: 128)")
    parser.add_argument("--task-trials", type=int, default=16, help="of a task (default: 16)")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](given)))
        return
    for case in given.case.split(","):
        rows = []
        for seed in range(given.seeds):
            with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
                found = [_part(part, case, seed, folder, given) for part in PARTS]
            stock_s, tune_s, (stock_ms, tune_ms, faster) = found
            seconds = [stock_s, tune_s, tune_s / stock_s]
            rows.append([_trials(case, given), seed, *seconds, stock_ms, tune_ms, faster])
        print(f"{case}\n{tabulate(rows, COLUMNS, floatfmt='.3g')}\n", flush=True)


def _part(part: str, case: str, seed: int, folder: str, given: argparse.Namespace) -> Any:
    words = ["--part", part, "--case", case, "--seed", str(seed), "--folder", folder]
    words += ["--trials", str(given.trials), "--task-trials", str(given.task_trials)]
    command = [sys.executable, __file__, *words]
    # All of it on the threads that kernels are measured on: TVM would take half of the cores.
    threads = {"TVM_NUM_THREADS": str(threads_of(resolve_target(None)))}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **threads}
    )
    return json.loads(done.stdout.splitlines()[-1])


def _trials(case: str, given: argparse.Namespace) -> int:
    found = workloads.get(case)
    return given.task_trials * len(found.tasks()) if isinstance(found, Network) else given.trials


def stock(given: argparse.Namespace) -> float:
    """Seconds of TVM's calls."""
    import tvm
    from tvm.s_tir import meta_schedule as ms

    case, target = workloads.get(given.case), resolve_target(None)
    trials, seed = _trials(given.case, given), given.seed + 1
    started_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as work:
        if isinstance(case, Network):
            layers, fused = to_relax(case.graph()), case.program()
            database = ms.relax_integration.tune_relax(fused, {}, target, work, trials, seed=seed)
            made = ms.relax_integration.compile_relax(database, layers, target, None)
        else:
            [task] = case.tasks()
            database = ms.tune_tir(task.mod, target, work, trials, seed=seed)
            schedule = ms.tir_integration.compile_tir(database, task.mod, target)
            made = tvm.compile(schedule.mod, target=target)
    made.export_library(str(given.folder / "stock.so"))
    return time.perf_counter() - started_s


def ours(given: argparse.Namespace) -> float:
    """Seconds of `tune`."""
    import_module("tvm.s_tir.meta_schedule")  # imports do not count
    case = workloads.get(given.case)
    trials = f"{given.task_trials}/task" if isinstance(case, Network) else given.trials
    started_s = time.perf_counter()
    tuned = tune(case, trials=trials, seed=given.seed, rewrite=None)
    tuned.module.export_library(str(given.folder / "tune.so"))
    return time.perf_counter() - started_s


def in_turn(given: argparse.Namespace) -> list[float]:
    """Milliseconds of a call of both libraries, and how many times as fast the second is."""
    case = workloads.get(given.case)
    calls = [_call(case, given.folder / f"{name}.so") for name in ("stock", "tune")]
    turns = [[_latency_s(call) for call in calls] for _ in range(TURNS + 1)][1:]
    stock_s, tune_s = (statistics.median(column) for column in zip(*turns, strict=True))
    return [stock_s * 1e3, tune_s * 1e3, statistics.median(one / two for one, two in turns)]


def _call(case: Case, library: Path) -> Callable[[], object]:
    import tvm

    module = tvm.runtime.load_module(str(library))
    if isinstance(case, Network):
        main = tvm.relax.VirtualMachine(module, tvm.cpu())["main"]
        arrays = case.arguments()
    else:
        main = module["main"]
        check = case.check()
        arrays = (*check.inputs, *(one.expected for one in check.outputs))
    arguments = [tvm.runtime.tensor(one) for one in arrays]
    return lambda: main(*arguments)


def _latency_s(call: Callable[[], object]) -> float:
    """Mean of the calls of a turn."""
    count, started_s = 0, time.perf_counter()
    while (passed_s := time.perf_counter() - started_s) < TURN_S or not count:
        call()
        count += 1
    return passed_s / count


PARTS: Final = {"stock": stock, "tune": ours, "in-turn": in_turn}


if __name__ == "__main__":
    main()
