"""How much faster than untuned code kernels are after so many trials, beside published curves.

    python benchmarks/draft.py --tests bench_cases/test_reasoning_compiler.py --case IDS \
        --trials 600 --round 64 --reference-kernels untuned --into docs/results/reasoning-compiler
    python benchmarks/published_curves.py [FOLDER]

`--print-cases` prints IDS. Published are the curves of REASONING COMPILER on a Core i9
(https://arxiv.org/abs/2506.01374), TVM's evolutionary search and its own after so many proposals,
over unoptimized code: ours are over TVM's code without a schedule, on another CPU, and four of
five shapes are ours (`workloads.REASONING_COMPILER`). So rows are to be compared within, not
across, tables.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Final

import numpy as np
from commits import merged
from tabulate import tabulate

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.workloads import REASONING_COMPILER

FOLDER: Final = Path(__file__).parents[1] / "docs" / "results" / "reasoning-compiler"
AFTER: Final = (36, 200, 600)
PUBLISHED: Final[Sequence[Mapping[int, tuple[float, float]]]] = (
    {36: (2.11, 7.05), 200: (5.07, 9.10), 600: (6.60, 9.45)},
    {36: (5.70, 7.08), 200: (9.40, 10.56), 600: (9.54, 11.33)},
    {36: (2.22, 4.48), 200: (4.64, 5.42), 600: (4.71, 5.43)},
    {36: (2.08, 2.21), 200: (2.19, 2.36), 600: (2.32, 2.47)},
    # After 20, 250 and 3000 proposals.
    {20: (1.36, 12.74), 250: (5.59, 12.75), 3000: (5.94, 13.79)},
)
"""Of each workload, as in `workloads.REASONING_COMPILER`: TVM's search and theirs."""


def main() -> None:
    """Print one table for all workloads that there are results of."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--print-cases", action="store_true", help="the ids of the workloads")
    given = parser.parse_args()
    if given.print_cases:
        print(",".join(case.id for case in REASONING_COMPILER))
        return
    paths = sorted(given.folder.glob("*.json.gz"))
    if not paths:
        raise SystemExit(f"no results in {str(given.folder)!r}: run benchmarks/draft.py first")
    found = {case.case: case for case in merged(paths).cases}
    for workload, published in zip(REASONING_COMPILER, PUBLISHED, strict=True):
        if workload.id in found:
            print(f"{_table(found[workload.id], published)}\n")


def _table(case: CaseResult, published: Mapping[int, tuple[float, float]]) -> str:
    untuned_s = _untuned_s(case)
    rows = [
        [
            f"{arm}, {len(case.runs_of(arm))} runs",
            *(_cell([_speedup(untuned_s, run, n) for run in _runs(case, arm)]) for n in AFTER),
        ]
        for arm in case.strategies
    ]
    for place, name in enumerate(("published: TVM's", "published: theirs")):
        at = {n: f"{speedups[place]:.3g}" for n, speedups in published.items()}
        shown = [text if n in AFTER else f"{text} after {n}" for n, text in at.items()]
        rows.append([name, *shown])
    return tabulate(rows, [case.case, *map(str, AFTER)], disable_numparse=True)


def _runs(case: CaseResult, arm: str) -> list[Trajectory]:
    return [Trajectory.of(run) for run in case.runs_of(arm)]


def _untuned_s(case: CaseResult) -> float:
    latencies_s = [
        kernel.latency_s
        for found in case.yardsticks
        for kernel in found.kernels
        if kernel.implementation == "untuned" and kernel.latency_s is not None
    ]
    if not latencies_s:
        raise SystemExit(f"{case.case} has no untuned latency: --reference-kernels untuned")
    return geometric_mean(latencies_s)


def _speedup(untuned_s: float, run: Trajectory, count: int) -> float:
    """Over untuned code after so many trials; 0 without a valid program, NaN beyond the budget."""
    if len(run.run.trials) < count:
        return math.nan
    return untuned_s / run.best_after(count)


def _cell(speedups: Sequence[float]) -> str:
    """Median, and the range of several runs."""
    known = [one for one in speedups if not math.isnan(one)]
    if not known:
        return ""
    middle = f"{np.median(known):.3g}"
    return middle if len(known) == 1 else f"{middle} [{min(known):.3g}, {max(known):.3g}]"


if __name__ == "__main__":
    main()
