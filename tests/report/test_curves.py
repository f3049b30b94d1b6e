"""Curves of searches: the median over seeds of the best throughput so far."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import CaseResult, Recording
from pytest_ansorbench.report.curves import curves, latency_curve
from pytest_ansorbench.report.sections import Axis, Chart, Series
from pytest_ansorbench.stats.criteria import Criteria
from tests.stats.test_leads import confirmed
from tests.synthetic import CRITERIA, held_against, make_case_result, make_run, make_yardsticks


def case(*latencies: list[float | None]) -> CaseResult:
    """One strategy with a seed for each list of latencies; a second that has no run."""
    runs = tuple(make_run(seed=seed, latencies=trials) for seed, trials in enumerate(latencies))
    return CaseResult("conv2d", ("default", "fast"), runs, ())


def charts(result: CaseResult, criteria: Criteria = CRITERIA) -> tuple[Chart, Chart]:
    over_trials, over_time = curves(result, criteria).blocks
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
    assert series.x == pytest.approx((0.0, 1.0, 2.0), abs=0.01)
    assert series.y == (0.0, 0.5, 1.0)


def test_a_curve_has_a_point_where_it_changes_and_one_at_its_end() -> None:
    over_trials, _ = charts(case([4.0, 4.0, 2.0, 3.0, 3.0]))
    [series] = over_trials.series
    assert (series.x, series.y) == ((1, 3, 5), (0.25, 0.5, 0.5))


def test_a_network_has_no_throughput_until_each_task_has_a_valid_trial() -> None:
    run = make_run(latencies=[2.0, 1.0, 3.0, 1.0])
    tasks = (run.tasks[0], dataclasses.replace(run.tasks[0], name="pool"))
    rounds = tuple(dataclasses.replace(r, task=number) for number, r in enumerate(run.rounds))
    run = dataclasses.replace(run, tasks=tasks, rounds=rounds)
    over_trials, _ = charts(CaseResult(run.case, ("default",), (run,), ()))
    assert over_trials.series[0].y == pytest.approx((0.0, 0.25, 0.5))


def test_each_run_is_a_curve_of_its_own_beside_the_median() -> None:
    over_trials, over_time = charts(case([2.0, None, 1.0], [4.0, 4.0]))
    assert [(run.label, run.x, run.y) for run in over_trials.runs] == [
        ("default", (1, 3, 3), pytest.approx((0.5, 1.0, 1.0))),
        ("default", (1, 2), pytest.approx((0.25, 0.25))),
    ]
    assert [run.x[-1] for run in over_time.runs] == [3.0, 2.0]


def test_progress_is_that_which_counts() -> None:
    runs = [
        confirmed(make_run(strategy=name, latencies=[4.0, 2.0]), {0: 4.0, 1: 4.0 / factor}, final)
        for name, factor, final in (("default", 1.0, 4.0), ("fast", 2.0, 1.0))
    ]
    result = CaseResult("conv2d", ("default", "fast"), tuple(runs), ())

    def ends(criteria: Criteria) -> list[float]:
        return [series.y[-1] for series in charts(result, criteria)[0].series]

    assert ends(CRITERIA) == pytest.approx([0.25, 1.0])
    assert ends(Criteria(progress="believed")) == [0.5, 0.5]


def test_runs_of_another_day_are_drawn_in_todays_seconds() -> None:
    run = make_run(latencies=[2.0, 1.0])
    run = dataclasses.replace(run, recorded=Recording("2026-01-02", 1.2 * run.search_s, None))
    _, over_time = charts(CaseResult("conv2d", ("default",), (run,), ()))
    assert over_time.series[0].x[-1] == pytest.approx(1.2 * run.search_s)


def test_runs_without_a_trial_have_no_curve_over_trials() -> None:
    over_trials, over_time = charts(case([], []))
    assert over_trials.series == (Series("default", (), ()),)
    assert over_time.series[0].y[-1] == 0.0


def test_curves_are_of_a_case() -> None:
    section = curves(case([1.0]), CRITERIA)
    assert (section.key, section.subject) == ("curves", "conv2d")


def test_several_runs_have_quartiles_beside_their_median() -> None:
    over_trials, _ = charts(case([2.0], [1.0], [0.5]))
    [series] = over_trials.series
    assert (series.low, series.y, series.high) == ((0.75,), (1.0,), (1.5,))
    alone, _ = charts(case([2.0]))
    assert alone.series[0].low == alone.series[0].high == ()


def test_targets_other_implementations_and_the_peak_are_levels() -> None:
    over_trials, over_time = charts(held_against())
    assert over_trials.levels == over_time.levels
    assert [(level.label, level.y) for level in over_trials.levels] == [
        ("target", pytest.approx(1.0 / 1.01, rel=0.01)),
        ("torch", 0.5),
        ("peak", 100.0),
    ]


def test_on_several_machines_there_is_no_one_level() -> None:
    other = dataclasses.replace(make_yardsticks(), machine="another")
    result = dataclasses.replace(make_case_result(), yardsticks=(make_yardsticks(), other))
    over_trials, _ = charts(result)
    assert [level.label for level in over_trials.levels] == ["target"]


def test_latencies_fall_to_what_was_measured_again_beside_other_libraries() -> None:
    run = make_run(latencies=[None, 2.0, 1.0], final=1.5)
    result = CaseResult(run.case, ("default", "fast"), (run,), (), yardsticks=(make_yardsticks(),))
    chart = latency_curve(result, CRITERIA)
    [series] = chart.series
    assert chart.y.unit == "ms"
    assert series.x == pytest.approx((2.0, 3.0), abs=0.01)
    assert series.y == pytest.approx((3000.0, 1500.0))
    # Neither the peak nor the target is a latency that someone measured.
    assert [(level.label, level.y) for level in chart.levels] == [("torch", pytest.approx(2000.0))]


def test_half_of_the_runs_have_no_median_latency_yet() -> None:
    # The first is at 4 s from the first trial on, the second at 1 s from the third on.
    chart = latency_curve(case([4.0, None, None], [None, None, 2.0]), CRITERIA)
    [series] = chart.series
    assert series.x == pytest.approx((3.0,), abs=0.01) and series.y == pytest.approx((3000.0,))


def test_runs_without_a_program_have_no_latency_curve() -> None:
    chart = latency_curve(case([None]), CRITERIA)
    assert chart.series == (Series("default", (), ()),)
