"""Curves of searches: best throughput so far, over trials and over search time."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.cells import Seconds
from pytest_ansorbench.report.sections import Axis, Chart, Section, Series
from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory

_INSTANTS = 400
"""Points of a curve over time, which has no steps of its own."""

_BEST = Axis("best GFLOP/s so far, median of seeds")


def curves(case: CaseResult) -> Section:
    """Draw the searches of a case as curves.

    A network's throughput is estimated from its tasks' best so far, and 0 until each has a valid
    trial.

    Args:
        case: The case.

    Returns:
        Two charts with a curve for each strategy that has a run: the median over its seeds of
        the best throughput so far in GFLOP/s, after each trial and over search time.
    """
    arms = {
        strategy: [Trajectory.of(run) for run in runs]
        for strategy in case.strategies
        if (runs := case.runs_of(strategy))
    }
    return Section(
        "curves",
        (
            Chart(
                Axis("trials"),
                _BEST,
                tuple(
                    _median(strategy, runs, "trials", np.arange(1, _longest(runs, "trials") + 1))
                    for strategy, runs in arms.items()
                ),
            ),
            Chart(
                Axis("search time", Seconds.UNIT),
                _BEST,
                tuple(
                    _median(
                        strategy,
                        runs,
                        "search_s",
                        np.linspace(0.0, _longest(runs, "search_s"), _INSTANTS),
                    )
                    for strategy, runs in arms.items()
                ),
            ),
        ),
        subject=case.case,
    )


def _longest(runs: list[Trajectory], spending: Spending) -> float:
    return max(float(_spent(run, spending)[-1]) for run in runs)


def _median(strategy: str, runs: list[Trajectory], spending: Spending, at: Floats) -> Series:
    best = [_best_gflops(run, _spent(run, spending), at) for run in runs]
    return Series(strategy, tuple(at.tolist()), tuple(np.median(best, axis=0).tolist()))


def _spent(run: Trajectory, spending: Spending) -> Floats:
    return run.trials if spending == "trials" else run.search_s


def _best_gflops(run: Trajectory, spent: Floats, at: Floats) -> Floats:
    """A run's best throughput once an amount is spent; 0 before there is one.

    Args:
        run: The run, with k improvements.
        spent: Spent until each improvement, and last in all, shape (k + 1,).
        at: Amounts to look at, shape (m,).

    Returns:
        GFLOP/s of shape (m,).
    """
    gflops: Floats = np.array([0.0, *(run.run.flops / run.latency_s / 1e9)])
    return gflops[np.searchsorted(spent[:-1], at, side="right")]
