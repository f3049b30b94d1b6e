"""How far are the kernels of `draft` from those of PyTorch on the same cores?

    pip install torch --index-url https://download.pytorch.org/whl/cpu
    python benchmarks/vendor.py [--case ID,ID] [--trials N] [--strategy NAME] [--into FOLDER]

Tunes each case with one run, or takes the result that is there; the run's winner is measured in
fresh processes, as always. PyTorch computes the same operator right after, on as many threads, its
inputs in the layout that it likes best (channels last). Both are called over and over with warm
caches. Prints GFLOP/s of both and their ratio, and writes them to vendor.json in the folder. Ten
minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tabulate import tabulate

from pytest_ansorbench import workloads
from pytest_ansorbench.storage import read_result

HERE: Final = Path(__file__).parent
CASES: Final = (
    "matmul-b1-m512-n512-k512",
    "matmul-b1-m128-n3072-k768",
    "conv2d-n1-h56-w56-ci64-co64-k3-s1-p1",
    "conv2d-n1-h14-w14-ci256-co256-k3-s1-p1",
    "conv1d-n1-l256-ci64-co128-k3-s2-p1",
    "conv1d-n1-l64-ci256-co256-k5-s1-p2",
)


def main() -> None:
    """Tune what has no result yet, time PyTorch, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--strategy", default="draft+transfer")
    parser.add_argument("--into", type=Path, default=HERE.parent / "docs" / "results" / "vendor")
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    found = []
    for case_id in given.case.split(","):
        path = given.into / f"{case_id}.json"
        if not path.exists():
            tune(case_id, path, given)
        [run] = read_result(path).cases[0].runs
        latency_s = statistics.median(run.final.latencies_s)
        found.append(
            {
                "case": case_id,
                "trials": len(run.trials),
                "search_s": round(sum(one.search_s for one in run.rounds), 1),
                "tuned_s": latency_s,
                "torch_s": torch_latency_s(case_id),
            }
        )
    (given.into / "vendor.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(table(found))


def tune(case_id: str, path: Path, given: argparse.Namespace) -> None:
    """One run of one strategy."""
    command = [
        *(sys.executable, "-m", "pytest", "--ansor-bench", str(HERE.parent / "bench_cases")),
        *("-q", "-p", "no:cacheprovider", "--ansor-case", case_id),
        *("--ansor-strategy", given.strategy, "--ansor-trials", str(given.trials)),
        *("--ansor-repeats", "1", "--ansor-max-search-ratio", "none"),
        *("--ansor-min-throughput-ratio", "none", "--ansor-json", str(path)),
    ]
    subprocess.run(command, check=True)


def table(found: list[dict[str, Any]]) -> str:
    """GFLOP/s beside each other."""
    rows = []
    for one in found:
        flops = workloads.get(one["case"]).flops
        tuned, vendor = (flops / one[name] / 1e9 for name in ("tuned_s", "torch_s"))
        rows.append((one["case"], one["search_s"], tuned, vendor, tuned / vendor))
    heads = ("case", "search (s)", "tuned (GFLOP/s)", "PyTorch (GFLOP/s)", "ratio")
    return tabulate(rows, heads, floatfmt=("", ".0f", ".1f", ".1f", ".2f"))


def torch_latency_s(case_id: str) -> float:
    """Median latency of PyTorch's own kernel, of 30 samples of at least 20 ms."""
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    with torch.inference_mode():
        kernel = in_torch(workloads.get(case_id))
        for _ in range(20):
            kernel()
        calls, samples = 1, []
        while len(samples) < 30:
            started_s = time.perf_counter()
            for _ in range(calls):
                kernel()
            took_s = time.perf_counter() - started_s
            if took_s < 0.02:
                calls *= 2
            else:
                samples.append(took_s / calls)
    return statistics.median(samples)


def in_torch(case: Any) -> Callable[[], object]:
    """The operator as PyTorch has it."""
    import torch
    from torch.nn import functional

    if isinstance(case, workloads.BatchMatmul):
        left, right = (torch.randn(shape) for shape in case.input_shapes)
        if case.batch == 1:
            left, right = left[0], right[0]
        return lambda: left @ right
    if isinstance(case, workloads.Conv1d):
        data = torch.randn(case.batch, case.in_channels, case.length)
        weight = torch.randn(case.out_channels, case.in_channels, case.kernel)
        return lambda: functional.conv1d(data, weight, stride=case.stride, padding=case.padding)
    if type(case) is workloads.Conv2d:
        last = torch.channels_last
        data = torch.randn(case.batch, case.in_channels, case.height, case.width)
        weight = torch.randn(case.out_channels, case.in_channels, case.kernel, case.kernel)
        data, weight = data.to(memory_format=last), weight.to(memory_format=last)
        return lambda: functional.conv2d(data, weight, stride=case.stride, padding=case.padding)
    raise SystemExit(f"bad case {case.id!r}: expected a matmul, conv1d or conv2d")


if __name__ == "__main__":
    main()
