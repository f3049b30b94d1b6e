"""What fetching weights ahead is worth: kernels that `ansor-bench tune` came to, without it.

    python benchmarks/prefetches.py [FILE ...] > docs/results/prefetches.txt

FILE: a result that `benchmarks/tuned.py` has kept; all of docs/results/tuned/ by default. The
kernels whose schedules fetch ahead are measured in turn with themselves without that, as networks
run them (`--caches network`). The last column is the time with over that without.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tabulate import tabulate
from tuned import as_tuned, kept_results
from tvm import IRModule
from tvm.s_tir import Schedule
from tvm_ffi import structural_equal

from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.local.prefetching import prefetches
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.sessions import engine_of
from pytest_ansorbench.storage import read_result
from pytest_ansorbench.tuning import settings_of
from pytest_ansorbench.winners import winners_of_case
from pytest_ansorbench.workloads.case import PREFETCH, Task
from pytest_ansorbench.workloads.signature import nodes

EFFORT: Final = SideBySide(precision=0.01, turns=Span(20, 60), sets=Span(2, 2))
HEADERS: Final = ("network", "task", "calls", "ms", "ms without", "ratio")


def main() -> None:
    """Print a row for each kernel that fetches ahead, and one for all of a network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    files = parser.parse_args().files or kept_results()
    with engine_of(settings_of({"engine.caches": "network"})) as engine:
        rows = [row for file in files for row in measured(file, engine)]
    print(tabulate(rows, HEADERS, floatfmt=("", "", "", ".4f", ".4f", ".2f")))


def measured(file: Path, engine: Engine) -> Iterator[tuple[str, str, int, float, float, float]]:
    """The rows of the network of a result: latencies in ms."""
    [case] = read_result(file).cases
    tasks = tasks_of(case.case)
    network, total_ms, without_ms = case.case, 0.0, 0.0
    for winner in winners_of_case(case):
        task, scheduled = tasks[winner.place], winner.candidate()
        if structural_equal(prefetches()(scheduled.mod), scheduled.mod):
            continue
        programs = [
            Program.kernel(mod, scheduled.args_info, task.surroundings)
            for mod in (scheduled.mod, without_prefetches(scheduled.mod))
        ]
        first, second = engine.measure_side_by_side(programs, task.check, EFFORT)
        if first.latency_s is None or second.latency_s is None:
            raise SystemExit(f"{task.name}: {first.error or second.error}")
        ms, plain_ms = 1e3 * first.latency_s, 1e3 * second.latency_s
        total_ms, without_ms = total_ms + task.weight * ms, without_ms + task.weight * plain_ms
        yield network, task.name, task.weight, ms, plain_ms, ms / plain_ms
    if without_ms:
        yield network, "together", 1, total_ms, without_ms, total_ms / without_ms


def tasks_of(name: str) -> tuple[Task, ...]:
    """The tasks of a shipped network, as `tune` finds them in PyTorch's file."""
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        return tuple(as_tuned(name, Path(folder)).tasks())


def without_prefetches(mod: IRModule) -> IRModule:
    """A scheduled program whose weights are not fetched ahead."""
    schedule = Schedule(mod)
    for node in nodes(mod["main"].body):
        if PREFETCH in getattr(node, "annotations", {}):
            schedule.unannotate(schedule.get_sblock(node.name_hint), PREFETCH)
    return schedule.mod


if __name__ == "__main__":
    main()
