"""What it takes to get a network ready: seconds and memory of its program, tasks and compilation.

    python benchmarks/networks.py [--case ID,ID]

Each network has a process of its own, so that its peak memory is its own. Compilation is that of
the untuned network to machine code, which is the same work as that of a tuned one but for the
size of its kernels. TVM's own `compile_relax` compiles the same layers with an empty database, in
another process; its executable is loaded too, since it is then that LLVM makes machine code. The
ratio is from layers to machine code on both sides.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from tabulate import tabulate

from pytest_ansorbench import workloads


def main() -> None:
    """Measure all networks, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default=",".join(case.id for case in workloads.NETWORKS))
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](given.case)))
        return
    rows = []
    for case in given.case.split(","):
        row = {"case": workloads.get(case).id}
        for part in PARTS:
            command = [sys.executable, __file__, "--part", part, "--case", case]
            completed = subprocess.run(command, capture_output=True, text=True, check=True)
            row |= json.loads(completed.stdout.splitlines()[-1])
        rows.append(row)
        print(f"{case}: {row['compile_s']:.1f} s to compile", file=sys.stderr)
    print(report(rows))


def measured(case_id: str) -> dict[str, Any]:
    """All stages of one network in this process."""
    import tvm
    from tvm import relax

    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.measure.intrinsics import register_intrinsics
    from pytest_ansorbench.measure.local.lowering import network_executable
    from pytest_ansorbench.search import describe_tasks
    from pytest_ansorbench.strategies import Registry
    from pytest_ansorbench.workloads.networks.extract import extract_tasks
    from pytest_ansorbench.workloads.networks.to_relax import fuse, to_relax

    case = workloads.get(case_id)
    target = resolve_target(None)
    register_intrinsics(target)
    imported_mb = peak_mb()
    layers, layers_s = timed(lambda: to_relax(case.graph()))
    program, fuse_s = timed(lambda: fuse(layers))
    tasks, extract_s = timed(lambda: extract_tasks(program))
    described, sketches_s = timed(lambda: describe_tasks(tasks, target, Registry().get("default")))
    extracted_mb = peak_mb()
    _, compile_s = timed(
        lambda: relax.VirtualMachine(network_executable(program, target), tvm.cpu())
    )
    compiled_mb = peak_mb()
    return {
        "tasks": len(tasks),
        "tunable": sum(task.tunable for task in described),
        "calls": sum(task.weight for task in tasks),
        "gflop": case.flops / 1e9,
        "weights_mb": sum(array.nbytes for array in case.weights()) / 1e6,
        "layers_s": layers_s,
        "fuse_s": fuse_s,
        "extract_s": extract_s,
        "sketches_s": sketches_s,
        "compile_s": compile_s,
        "extract_mb": extracted_mb - imported_mb,
        "compile_mb": compiled_mb - imported_mb,
    }


def stock(case_id: str) -> dict[str, Any]:
    """Compilation of one network by TVM alone."""
    import tvm
    from tvm import relax
    from tvm.s_tir.meta_schedule.database import MemoryDatabase
    from tvm.s_tir.meta_schedule.relax_integration import compile_relax

    from pytest_ansorbench.environment import resolve_target
    from pytest_ansorbench.workloads.networks.to_relax import to_relax

    target = resolve_target(None)
    layers = to_relax(workloads.get(case_id).graph())
    executable, compile_s = timed(lambda: compile_relax(MemoryDatabase(), layers, target, None))
    _, load_s = timed(lambda: relax.VirtualMachine(executable, tvm.cpu()))
    return {"stock_compile_s": compile_s, "stock_load_s": load_s}


PARTS: Final = {"ours": measured, "stock": stock}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What some work returns, and the seconds it takes."""
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def peak_mb() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


COLUMNS: Final = (
    ("network", "{case}"),
    ("tasks", "{tasks}"),
    ("to tune", "{tunable}"),
    ("calls", "{calls}"),
    ("GFLOP", "{gflop:.2f}"),
    ("weights (MB)", "{weights_mb:.1f}"),
    ("extract (s)", "{all_of_extract_s:.2f}"),
    ("sketches (s)", "{sketches_s:.2f}"),
    ("memory (MB)", "{extract_mb:.0f}"),
    ("compile (s)", "{compile_s:.2f}"),
    ("memory (MB)", "{compile_mb:.0f}"),
    ("of compile_relax", "{ratio_to_stock:.2f}"),
)


def report(rows: list[dict[str, Any]]) -> str:
    """The table."""
    for row in rows:
        row["all_of_extract_s"] = row["layers_s"] + row["fuse_s"] + row["extract_s"]
        # From layers to machine code on both sides.
        ours_s, stock_s = row["fuse_s"] + row["compile_s"], row["stock_compile_s"]
        row["ratio_to_stock"] = ours_s / (stock_s + row["stock_load_s"])
    headings, cells = zip(*COLUMNS, strict=True)
    table = [[cell.format(**row) for cell in cells] for row in rows]
    return tabulate(table, headings, colalign=("left", *["right"] * 11), disable_numparse=True)


if __name__ == "__main__":
    main()
