"""Four ways from a scheduled module to a latency: what each costs, and whether they agree.

    python benchmarks/artifacts.py [--case ID] [--candidates 24]

- archive: TVM's own way. Export an archive of object code; load it, which links it.
- library: export a shared library, linked by the system's compiler; load it.
- memory: compile to machine code in this process, without a file.
- fork: the engine's way: a process forked for the candidate compiles it to its memory, runs it
  and exits.

The first three do all their work in this one process, which nothing isolates from a bad
candidate; the last pays for isolation. All compile one candidate at a time here. The ways take
turns, candidate by candidate; all run each kernel fixed, 100 ms.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from soak import random_schedules
from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.measure.arguments import Arguments
from pytest_ansorbench.measure.local.compiled import (
    KERNEL_ENTRY,
    compile_module,
    evaluate,
    first_run,
    tensors_on,
)
from pytest_ansorbench.measure.local.engine import LocalEngine, local_engine
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.settings import EngineSettings

#: TVM's threads wait busily for 0.15 s after a kernel; another process's kernel has to wait.
SETTLE_S = 0.3


class InProcess:
    """A stopwatch on a kernel of this process."""

    def __init__(self, kernel: Any, arguments: Arguments) -> None:
        self._kernel = kernel
        self._arguments = arguments
        self._tensors = tensors_on(arguments.arrays)

    def first_call(self) -> float:
        """One call."""
        return first_run(self._kernel, KERNEL_ENTRY, self._tensors)

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        """Several calls."""
        return tuple(evaluate(self._kernel, KERNEL_ENTRY, self._tensors, calls, samples))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default="conv2d-n1-h14-w14-ci256-co256-k3-s1-p1")
    parser.add_argument("--candidates", type=int, default=24, help="candidates (default: 24)")
    given = parser.parse_args()
    [task] = workloads.get(given.case).tasks()
    measured: dict[str, list[tuple[float, float, float]]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        local_engine(None, EngineSettings(build_workers=1)) as engine,
    ):
        target = engine.target
        # As the engine tells its processes; TVM's own default is half of the cores.
        os.environ["TVM_NUM_THREADS"] = str(target.attrs["num-cores"])
        candidates = list(itertools.islice(random_schedules(task, target), given.candidates))
        # A name that was loaded before would be answered from the loader's memory.
        names = (Path(folder) / f"kernel-{n}" for n in itertools.count())
        ways: dict[str, Callable[[Any, Any], tuple[float, float, float]]] = {
            "archive": lambda mod, info: by_file(mod, target, task, f"{next(names)}.tar"),
            "library": lambda mod, info: by_file(mod, target, task, f"{next(names)}.so"),
            "memory": lambda mod, info: in_memory(mod, target, task),
            "fork": lambda mod, info: by_engine(engine, mod, info, task),
        }
        for mod, info in candidates:
            for name, way in ways.items():
                time.sleep(SETTLE_S)
                measured.setdefault(name, []).append(way(mod, info))
    rows = []
    for name, figures in measured.items():
        ratios = [own[2] / other[2] for own, other in zip(figures, measured["memory"], strict=True)]
        rows.append(
            [
                name,
                *(f"{statistics.fmean(figure[i] for figure in figures):.3f}" for i in range(2)),
                f"{statistics.fmean(figure[0] + figure[1] for figure in figures):.3f}",
                f"{math.exp(statistics.fmean(map(math.log, ratios))):.3f}",
            ]
        )
    print(
        tabulate(
            rows,
            ["way", "build (s)", "load and run (s)", "together (s)", "latency / memory"],
            disable_numparse=True,
        )
    )


def by_file(mod: Any, target: Any, task: Any, path: str) -> tuple[float, float, float]:
    """Build, export, load, run: seconds to build, seconds to load and run, latency."""
    from tvm.driver import build
    from tvm.runtime import load_module
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    started = time.perf_counter()
    program = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod)
    build(program, target=target).export_library(path)
    built = time.perf_counter()
    latency_s = measure(load_module(path), task)
    return built - started, time.perf_counter() - built, latency_s


def in_memory(mod: Any, target: Any, task: Any) -> tuple[float, float, float]:
    """Build and run in this process."""
    started = time.perf_counter()
    kernel = compile_module(mod, target)
    built = time.perf_counter()
    latency_s = measure(kernel, task)
    return built - started, time.perf_counter() - built, latency_s


def by_engine(engine: LocalEngine, mod: Any, info: Any, task: Any) -> tuple[float, float, float]:
    """Build and run in a forked process."""
    started = time.perf_counter()
    [built] = engine.build([Program.kernel(mod, info)], task.check)
    build_s = time.perf_counter() - started
    outcome = engine.run(built, FixedMeasurement(), best_s=0.0)
    return build_s, outcome.run_s, statistics.median(outcome.latencies_s)


def measure(kernel: Any, task: Any) -> float:
    """Latency of a kernel of this process."""
    shapes = [("float32", list(array.shape)) for array in (*task.check.inputs, task.check.expected)]
    arguments = Arguments(shapes, task.check)
    return FixedMeasurement().measure(InProcess(kernel, arguments), None)[0]


if __name__ == "__main__":
    main()
