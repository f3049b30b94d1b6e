"""Curves of searches: the median over seeds of the best throughput so far."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report import curves
from pytest_ansorbench.report.sections import Axis, Chart
from tests.synthetic import make_run


def case(*latencies: list[float | None]) -> CaseResult:
    """One strategy with a seed for each list of latencies; a second that has no run."""
    runs = tuple(make_run(seed=seed, latencies=trials) for seed, trials in enumerate(latencies))
    return CaseResult("conv2d", ("default", "fast"), runs, ())


def charts(result: CaseResult) -> tuple[Chart, Chart]:
    over_trials, over_time = curves(result).blocks
    assert isinstance(over_trials, Chart) and isinstance(over_time, Chart)
    return over_trials, over_time


def test_best_throughput_after_each_trial_is_the_median_over_seeds() -> None:
    over_trials, _ = charts(case([2.0, None, 1.0], [4.0, 1.0, 2.0], [None, None, 0.5]))
    [series] = over_trials.series
    assert (over_trials.x, series.label) == (Axis("trials"), "default")
    assert series.x == (1, 2, 3)
    assert series.y == pytest.approx((0.25, 0.5, 1.0))


def test_over_time_a_curve_starts_at_nothing_and_rises_when_a_trial_is_done() -> None:
    _, over_time = charts(case([2.0, 1.0]))
    [series] = over_time.series
    assert (over_time.x, over_time.y.unit) == (Axis("search time", "s"), "")
    assert (series.x[0], series.x[-1], len(series.x)) == (0.0, 2.0, 400)
    assert (series.y[0], series.y[-1]) == (0.0, 1.0)
    assert all(
        best == (0.0 if seconds < 1.0 else 0.5 if seconds < 2.0 else 1.0)
        for seconds, best in zip(series.x, series.y, strict=True)
    )


def test_a_network_has_no_throughput_until_each_task_has_a_valid_trial() -> None:
    run = make_run(latencies=[2.0, 1.0, 3.0, 1.0])
    tasks = (run.tasks[0], dataclasses.replace(run.tasks[0], name="pool"))
    rounds = tuple(dataclasses.replace(r, task=number) for number, r in enumerate(run.rounds))
    run = dataclasses.replace(run, tasks=tasks, rounds=rounds)
    over_trials, _ = charts(CaseResult("net", ("default",), (run,), ()))
    assert over_trials.series[0].y == pytest.approx((0.0, 0.0, 0.25, 0.5))


def test_curves_are_of_a_case() -> None:
    section = curves(case([1.0]))
    assert (section.key, section.subject) == ("curves", "conv2d")
