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
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from tabulate import tabulate

from pytest_ansorbench.records import CaseResult, Run
from pytest_ansorbench.stats.criteria import Criteria, Progress
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result

CRITERIA: Final = Criteria()
GOALS: Final = (Goal(), *map(Goal.parse, ("100%", "75%", "50%")))
WAYS: Final[tuple[Progress, ...]] = ("believed", "confirmed")


def main() -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="results with leads, of controls")
    parser.add_argument("--deals", type=int, default=2000, help="deals a figure (default: 2000)")
    given = parser.parse_args()
    found = [
        figures(case, given.deals) for path in given.results for case in read_result(path).cases
    ]
    print(report(found))


def figures(case: CaseResult, deals: int) -> dict[str, Any]:
    """All figures of one control.

    Raises:
        SystemExit: Its leads were not measured again.
    """
    runs = case.runs
    if any(run.leads is None for run in runs):
        raise SystemExit(f"error: {case.case}: its leads were not measured again")
    optimism = [_final_s(run) / (run.estimated_s or math.nan) for run in runs]
    spent_s = {run.seed: run.leads_s for run in runs}
    search_s = math.fsum(run.search_s for run in runs)
    return {
        "case": case.case,
        "runs": len(runs),
        "trials": runs[0].budget_trials,
        "believed_scatter": _scatter([run.estimated_s or math.nan for run in runs]),
        "final_scatter": _scatter([_final_s(run) for run in runs]),
        "optimism": statistics.geometric_mean(optimism),
        "optimism_range": [min(optimism), max(optimism)],
        "leads": sum(len(run.leads or ()) for run in runs),
        "leads_s": math.fsum(spent_s.values()),
        "search_s": search_s,
        "log_s": {
            str(goal): {way: _scatter_of_log_s(runs, way, goal, deals) for way in WAYS}
            for goal in GOALS
        },
    }


def _final_s(run: Run) -> float:
    return (run.final.latency_s if run.final else None) or math.nan


def _scatter(values: Sequence[float]) -> float:
    return statistics.stdev(map(math.log, values))


def _scatter_of_log_s(
    runs: Sequence[Run], way: Progress, goal: Goal, deals: int
) -> dict[str, float]:
    """Standard deviation of log S over deals in which both arms reach a target; their share."""
    trajectories = [Trajectory.of(run, way) for run in runs]
    rng = np.random.default_rng(0)
    logs = []
    for _ in range(deals):
        order = rng.permutation(len(runs))
        half = len(runs) // 2
        arms = [[trajectories[i] for i in part] for part in (order[:half], order[half:])]
        paired = PairedRuns(arms[0], arms[1], goal, CRITERIA.tolerance)
        [ratio] = SearchRatio("search_s").values(paired, np.arange(half)[np.newaxis])
        if 0.0 < ratio < math.inf:
            logs.append(math.log(ratio))
    return {"scatter": statistics.stdev(logs), "share": len(logs) / deals}


def report(found: Sequence[dict[str, Any]]) -> str:
    """Two tables: what runs came to, and S."""
    ends = [
        [
            one["case"],
            f"{one['runs']} x {one['trials']}",
            f"{one['believed_scatter']:.1%}",
            f"{one['final_scatter']:.1%}",
            "{:.2f} ({:.2f} to {:.2f})".format(one["optimism"], *one["optimism_range"]),
            f"{one['leads'] / one['runs']:.1f}",
            f"{one['leads_s'] / one['search_s']:.0%}",
        ]
        for one in found
    ]
    ratios = [
        [
            one["case"],
            *(f"{both[way]['scatter']:.2f}" for both in one["log_s"].values() for way in WAYS),
        ]
        for one in found
    ]
    headings = [f"{goal}, {way}" for goal in GOALS for way in WAYS]
    return "\n\n".join(
        (
            tabulate(
                ends,
                headers=[
                    "control",
                    "runs x trials",
                    "scatter of ends, believed",
                    "measured again",
                    "optimism (range)",
                    "leads a run",
                    "confirming, of search time",
                ],
                disable_numparse=True,
            ),
            "standard deviation of log S, two arms of half of the runs each, by goal and progress",
            tabulate(ratios, headers=["control", *headings], disable_numparse=True),
        )
    )


if __name__ == "__main__":
    main()
