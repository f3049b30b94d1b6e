"""What confirming changes: progress as searches saw it, and as it was measured again.

    python benchmarks/progress.py docs/results/control-*.json.gz [--deals 2000]

Each file holds a search against itself, so every run is one of the same arm and the truth is
S = 1. Printed are the scatter between seeds of what the runs came to, as the searches saw it and
as it was measured again; `optimism`, how many times slower the winners were when they were measured
again; and the scatter of log S, by believed and by confirmed progress, when all runs are dealt out
anew to two arms. No TVM, a minute.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from tabulate import tabulate

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.criteria import Criteria, Progress
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result

CRITERIA: Final = Criteria()
GOALS: Final = (Goal(), *map(Goal.parse, ("100%", "75%", "50%")))
WAYS: Final[tuple[Progress, ...]] = ("believed", "confirmed")
ENDS: Final = (
    *("control", "runs x trials", "scatter of ends, believed", "measured again"),
    *("optimism (range)", "leads a run", "confirming, of search time"),
)


def main() -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results with leads, of controls")
    parser.add_argument("--deals", type=int, default=2000, help="deals a figure (default: 2000)")
    given = parser.parse_args()
    cases = [case for path in given.results for case in read_result(path).cases]
    print(tabulate([*map(ends, cases)], ENDS, disable_numparse=True), end="\n\n")
    print("standard deviation of log S, two arms of half of the runs each, by goal and progress\n")
    columns = [*itertools.product(GOALS, WAYS)]
    headings = ["control", *(f"{goal}, {way}" for goal, way in columns)]
    rows = [
        [case.case, *(f"{scatter_of_log_s(case, *one, given.deals):.2f}" for one in columns)]
        for case in cases
    ]
    print(tabulate(rows, headings, disable_numparse=True))


def ends(case: CaseResult) -> list[str]:
    """What the runs of a control came to.

    Raises:
        SystemExit: Their leads were not measured again.
    """
    runs = case.runs
    if any(run.leads is None for run in runs):
        raise SystemExit(f"error: {case.case}: its leads were not measured again")
    believed_s = [run.estimated_s or math.nan for run in runs]
    finals_s = [(run.final.latency_s if run.final else None) or math.nan for run in runs]
    optimism = [final_s / seen_s for final_s, seen_s in zip(finals_s, believed_s, strict=True)]
    leads_s = math.fsum({run.seed: run.leads_s for run in runs}.values())
    return [
        case.case,
        f"{len(runs)} x {runs[0].budget_trials}",
        f"{_scatter(believed_s):.1%}",
        f"{_scatter(finals_s):.1%}",
        f"{statistics.geometric_mean(optimism):.2f} ({min(optimism):.2f} to {max(optimism):.2f})",
        f"{sum(len(run.leads or ()) for run in runs) / len(runs):.1f}",
        f"{leads_s / math.fsum(run.search_s for run in runs):.0%}",
    ]


def _scatter(values: Sequence[float]) -> float:
    return statistics.stdev(map(math.log, values))


def scatter_of_log_s(case: CaseResult, goal: Goal, way: Progress, deals: int) -> float:
    """Standard deviation of log S over deals in which both arms reach a target."""
    trajectories = [Trajectory.of(run, way) for run in case.runs]
    rng = np.random.default_rng(0)
    logs = []
    for _ in range(deals):
        order = rng.permutation(len(trajectories))
        half = len(trajectories) // 2
        arms = [[trajectories[i] for i in part] for part in (order[:half], order[half:])]
        paired = PairedRuns(arms[0], arms[1], goal, CRITERIA.tolerance)
        [ratio] = SearchRatio("search_s").values(paired, np.arange(half)[np.newaxis])
        if 0.0 < ratio < math.inf:
            logs.append(math.log(ratio))
    return statistics.stdev(logs)


if __name__ == "__main__":
    main()
