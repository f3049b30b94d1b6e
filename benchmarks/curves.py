"""Figures of how searches went: best throughput so far, over trials and over search time.

    python benchmarks/curves.py RESULT.json ...

Writes `RESULT-CASE.svg` beside each file, one figure a case. A network's throughput is estimated
from its tasks' best so far, and 0 until each has a valid trial.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.trajectory import Trajectory
from pytest_ansorbench.storage import read_result


def main() -> None:
    """Draw every case of some result files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="RESULT.json")
    for file in parser.parse_args().files:
        for case in read_result(file).cases:
            figure = file.with_name(f"{file.stem}-{case.case}.svg")
            draw(case, case.case, figure)
            print(figure)


def draw(case: CaseResult, title: str, path: Path) -> None:
    """Every strategy's best throughput so far, median over the seeds."""
    fig, panels = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for strategy in case.strategies:
        runs = [Trajectory.of(run) for run in case.runs_of(strategy)]
        trials = np.arange(1, max(run.trials[-1] for run in runs) + 1)
        seconds = np.linspace(0.0, max(run.search_s[-1] for run in runs), 400)
        for axes, at, spent in (
            (panels[0], trials, [run.trials for run in runs]),
            (panels[1], seconds, [run.search_s for run in runs]),
        ):
            best = [best_gflops(run, each, at) for run, each in zip(runs, spent, strict=True)]
            axes.step(at, np.median(best, axis=0), label=strategy, where="post")
    panels[0].set_xlabel("trials")
    panels[1].set_xlabel("search time (s)")
    panels[0].set_ylabel("best GFLOP/s so far, median of seeds")
    fig.suptitle(title)
    panels[1].legend(loc="lower right")
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)


def best_gflops(run: Trajectory, spent: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A run's best throughput when so much was spent; 0 before there is one.

    Args:
        run: The run, with k improvements.
        spent: What was spent until each, and last in all, shape (k + 1,).
        at: What is asked for, shape (m,).

    Returns:
        GFLOP/s of shape (m,).
    """
    gflops = np.array([0.0, *(run.run.flops / run.latency_s / 1e9)])
    return gflops[np.searchsorted(spent[:-1], at, side="right")]


if __name__ == "__main__":
    main()
