"""Curves of searches: best throughput so far, over trials and over search time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pytest_ansorbench.records import IMPLEMENTATIONS, CaseResult
from pytest_ansorbench.report.sections import Axis, Chart, Level, Section, Series
from pytest_ansorbench.report.yardsticks import levels
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.paired_runs import pair_case_runs, progress_of
from pytest_ansorbench.stats.trajectory import Floats, Spending, Trajectory

_INSTANTS = 400
"""Points of a curve over time, which has no steps of its own."""

SPENDINGS: Final[Mapping[Spending, Axis]] = {
    "trials": Axis("trials"),
    "search_s": Axis("search time", "s"),
}

_BEST = Axis("best GFLOP/s so far, median of seeds")

_LATENCY = Axis("best latency so far, scaled to the last measurement", "ms")

_Arms = Mapping[str, Sequence[Trajectory]]
"""The runs of each strategy."""


def curves(case: CaseResult, criteria: Criteria) -> Section:
    """Draw the searches of a case as curves, over trials and over search time.

    A curve for each strategy that has a run: the median over its seeds of the best throughput so
    far as S counts it, with its quartiles. A network's throughput is estimated from its tasks'
    best so far, and 0 until each has a valid trial.
    """
    return Section("curves", _charts(_arms(case, criteria), levels(case)), subject=case.case)


def curves_then_and_now(before: CaseResult, after: CaseResult, criteria: Criteria) -> Section:
    """Draw the searches of a case in two results over each other."""
    criteria = replace(criteria, progress=progress_of((*before.runs, *after.runs), criteria))
    arms = {
        f"{strategy}, {moment}": runs
        for moment, case in (("before", before), ("now", after))
        for strategy, runs in _arms(case, criteria).items()
    }
    return Section("curves", _charts(dict(sorted(arms.items())), ()), subject=after.case)


def latency_curve(case: CaseResult, criteria: Criteria) -> Chart:
    """Draw the latency that searches have come to over search time, other libraries as lines.

    A search measures trials one by one, and a network's tasks apart. So the curve of an arm is
    scaled to end at what its winners took when they were measured again, side by side and whole.
    It begins where most of the runs have a valid program.
    """
    flops = case.runs[0].flops if case.runs else 0
    series = tuple(_latencies(label, runs) for label, runs in _arms(case, criteria).items())
    peers = tuple(
        Level(level.label, flops / 1e6 / level.y)
        for level in levels(case)
        if level.label in IMPLEMENTATIONS
    )
    return Chart(SPENDINGS["search_s"], _LATENCY, series, levels=peers)


def _latencies(label: str, runs: Sequence[Trajectory]) -> Series:
    """The median over some runs, with a point where it changes and one at its end."""
    at = np.linspace(0.0, _longest(runs, "search_s"), _INSTANTS)
    with np.errstate(divide="ignore"):
        every = [one.run.flops / 1e6 / _best_gflops(one, "search_s", at) for one in runs]
    ms = _again_over_then(runs) * np.median(every, axis=0)
    known = np.isfinite(ms)
    return stepped(label, at[known], ms[None, known])


def _again_over_then(runs: Sequence[Trajectory]) -> float:
    """Latency of winners when measured again, over what the search took it for; the median."""
    ratios = [
        one.run.final.latency_s / one.best_s
        for one in runs
        if one.best_s < math.inf
        and one.run.final is not None
        and one.run.final.latency_s is not None
    ]
    return statistics.median(ratios) if ratios else 1.0


def _arms(case: CaseResult, criteria: Criteria) -> _Arms:
    return {
        name: pair_case_runs(case, name, criteria).challenger
        for name in case.strategies
        if case.runs_of(name)
    }


def _charts(arms: _Arms, against: tuple[Level, ...]) -> tuple[Chart, ...]:
    return tuple(
        Chart(
            axis,
            _BEST,
            tuple(_median(label, runs, spending) for label, runs in arms.items()),
            _runs(arms, spending),
            against,
        )
        for spending, axis in SPENDINGS.items()
    )


def _runs(arms: _Arms, spending: Spending) -> tuple[Series, ...]:
    """Each run as a curve of its own, with a point where it improves and one at its end."""
    return tuple(
        Series(
            strategy,
            tuple(run.costs(spending).tolist()),
            tuple(_best_gflops(run, spending, run.costs(spending)).tolist()),
        )
        for strategy, runs in arms.items()
        for run in runs
    )


def _longest(runs: Sequence[Trajectory], spending: Spending) -> float:
    return max(float(run.costs(spending)[-1]) for run in runs)


def _median(strategy: str, runs: Sequence[Trajectory], spending: Spending) -> Series:
    """The median over some runs, with a point where it or a quartile changes and one at its end."""
    end = _longest(runs, spending)
    at: Floats = np.arange(1, end + 1) if spending == "trials" else np.linspace(0.0, end, _INSTANTS)
    best = [_best_gflops(run, spending, at) for run in runs]
    found = np.quantile(best, (0.5, 0.25, 0.75) if len(runs) > 1 else (0.5,), axis=0)
    return stepped(strategy, at, found)


def stepped(label: str, at: Floats, lines: Floats) -> Series:
    """Lines over m amounts spent, shape (lines, m), where one of them changes and at their end."""
    if not at.size:
        return Series(label, (), ())
    changes = np.append(True, (np.diff(lines) != 0.0).any(axis=0))
    changes[-1] = True
    drawn = (tuple(line[changes].tolist()) for line in lines)
    return Series(label, tuple(at[changes].tolist()), *drawn)


def _best_gflops(run: Trajectory, spending: Spending, at: Floats) -> Floats:
    """A run's best GFLOP/s at m amounts spent, shape (m,); 0 before there is one."""
    gflops: Floats = np.array([0.0, *(run.run.flops / run.latency_s / 1e9)])
    return gflops[np.searchsorted(run.costs(spending)[:-1], at, side="right")]
