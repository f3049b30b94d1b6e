"""Runs of another day: what their seconds are worth today, and how surely."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pytest_ansorbench.records import Estimate, Recording
from pytest_ansorbench.stats.compare import compare
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.estimates import widened
from pytest_ansorbench.stats.evidence import change_evidence
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.paired_runs import pair_runs
from pytest_ansorbench.stats.recorded import MOST_DRIFT, Pace, drift
from pytest_ansorbench.stats.suite import judge_suites
from pytest_ansorbench.stats.suite_changes import suite_changes
from tests.stats.test_suite import case
from tests.synthetic import make_case_result, make_run

MOST = math.log(MOST_DRIFT)


def recorded(ratio, seed=0, **options):
    """A run of another day whose first round takes this many times as long today."""
    run = make_run(seed=seed, final=1.0, **options)
    first_s = ratio * run.rounds[0].search_s
    return dataclasses.replace(run, recorded=Recording("2026-01-02", first_s, run.final))


def fast(seeds, seconds=0.5):
    return [make_run("conv2d", "fast", s, seconds_per_trial=seconds, final=1.0) for s in seeds]


def test_runs_of_today_are_at_todays_pace():
    assert Pace.of([make_run(seed=seed) for seed in range(3)]) == Pace(1.0, 0.0)


def test_the_pace_is_the_geometric_mean_of_first_rounds():
    runs = [recorded(ratio, seed) for seed, ratio in enumerate((1.1, 1.1 * 1.02, 1.1 / 1.02))]
    assert drift(runs[0]) == pytest.approx(1.1)
    pace = Pace.of(runs)
    assert pace.ratio == pytest.approx(1.1)
    deviation = math.log(1.02) / math.sqrt(3)
    assert pace.error == pytest.approx(4.302652729696142 * deviation)  # Student's t, 2 degrees


@pytest.mark.parametrize("ratios", [(1.1,), (0.9, 1.2)])
def test_what_is_hardly_known_is_known_to_the_most_drift(ratios):
    runs = [recorded(ratio, seed) for seed, ratio in enumerate(ratios)]
    assert Pace.of(runs).error == pytest.approx(MOST)


def test_new_runs_among_them_make_it_count_less():
    runs = [recorded(1.1), *(make_run(seed=seed) for seed in (1, 2, 3))]
    assert Pace.of(runs).error == pytest.approx(MOST / 4)


def test_an_interval_is_wider_by_the_error_to_either_side():
    one = widened(Estimate(2.0, 1.0, 4.0), math.log(2.0))
    assert one == Estimate(2.0, 0.5, 8.0)
    assert widened(Estimate(2.0, 1.0, 4.0), 0.0) == Estimate(2.0, 1.0, 4.0)
    nothing = Estimate(0.0, 0.0, math.inf, "undefined")
    assert widened(nothing, 1.0) == nothing


def test_seconds_are_todays_and_trials_as_they_are():
    seeds = range(5)
    today = [make_run(seed=seed, final=1.0) for seed in seeds]
    then = [recorded(1.2, seed) for seed in seeds]
    one = compare(pair_runs(today, fast(seeds), Criteria()), 0.95)
    other = compare(pair_runs(then, fast(seeds), Criteria()), 0.95)
    assert other.search_ratio.value == pytest.approx(one.search_ratio.value / 1.2)
    assert other.search_ratio_trials == one.search_ratio_trials
    assert other.throughput_ratio == one.throughput_ratio
    for field in ("search_s", "propose_s", "build_s", "run_s", "learn_s", "time_to_target_s"):
        told = getattr(one.reference, field)
        assert told > 0.0 and getattr(other.reference, field) == pytest.approx(1.2 * told)
    assert other.challenger == one.challenger


@pytest.mark.parametrize("key", ["search_time", "time_to_target", "trials_to_target"])
def test_changes_of_the_reference_itself_are_in_todays_seconds(key):
    runs = [make_run(seed=seed, final=1.0) for seed in range(5)]
    then = [recorded(ratio, seed) for seed, ratio in enumerate((1.2, 1.2, 1.2, 1.1, 1.1))]
    before, after = (pair_runs(arm, arm, Criteria()) for arm in (runs, then))
    found = change_evidence(FIGURES[key], before, after, 0.95)
    pace = Pace.of(then) if key != "trials_to_target" else Pace()
    assert found.estimate.value == pytest.approx(pace.ratio)
    assert found.estimate.high == pytest.approx(pace.ratio * math.exp(pace.error))


def test_new_runs_among_recorded_ones_keep_their_seconds():
    runs = [recorded(1.2), make_run(seed=1, final=1.0), make_run(seed=2, final=1.0)]
    arm = compare(pair_runs(runs, fast(range(3)), Criteria()), 0.95).reference
    assert arm.search_s == pytest.approx(runs[0].search_s * (1.2 + 1.0 + 1.0) / 3)


def test_intervals_in_seconds_are_wider_and_those_in_trials_are_not():
    seeds = range(5)
    sure = [recorded(1.0, seed) for seed in seeds]
    unsure = [recorded(ratio, seed) for seed, ratio in enumerate((1.2, 1 / 1.2, 1.0, 1.1, 1 / 1.1))]
    one = compare(pair_runs(sure, fast(seeds), Criteria()), 0.95)
    other = compare(pair_runs(unsure, fast(seeds), Criteria()), 0.95)
    error = Pace.of(unsure).error
    for key in ("search_ratio", "search_ratio_paper", "running_time_ratio"):
        narrow, wide = getattr(one, key), getattr(other, key)
        assert wide.low == pytest.approx(narrow.low * math.exp(-error))
        assert wide.high == pytest.approx(narrow.high * math.exp(error))
    assert other.search_ratio_trials == one.search_ratio_trials


def gate_of(runs, limit, seconds):
    seeds = [run.seed for run in runs]
    [verdict] = judge_arms(
        ("default", "fast"),
        (*runs, *fast(seeds, seconds)),
        criteria=Criteria(),
        limits=Limits({"search_ratio": limit}),
    )
    [gate] = verdict.gates
    return gate


RATIOS = (1.2, 1 / 1.2, 1.1, 1 / 1.1, 1.0, 1.0, 1.15, 1 / 1.15)


@pytest.mark.parametrize(("seconds", "outcome"), [(0.5, "holds"), (2.0, "broken")])
def test_gates_on_seconds_are_stricter_about_them(seconds, outcome):
    today = [make_run(seed=seed, final=1.0) for seed in range(8)]
    then = [recorded(ratio, seed) for seed, ratio in enumerate(RATIOS)]
    error = Pace.of(then).error
    assert 0.05 < error < MOST
    # A limit that today's runs keep, or break, by less than the error.
    near = gate_of(today, seconds, seconds).estimate
    end = near.high if outcome == "holds" else near.low / 1.02
    limit = end * math.exp(error / 2 if outcome == "holds" else -error / 2)
    assert gate_of(today, limit, seconds).outcome == outcome
    assert gate_of(then, limit, seconds).outcome == "undecided"


def test_so_are_gates_on_changes():
    figure, seeds = FIGURES["search_ratio"], range(5)
    ratios = (1.2, 1 / 1.2, 1.0, 1.1, 1 / 1.1)
    then = [recorded(ratio, seed) for seed, ratio in enumerate(ratios)]
    before = pair_runs([make_run(seed=s, final=1.0) for s in seeds], fast(seeds), Criteria())
    after = pair_runs(then, fast(seeds, 1.0), Criteria())
    error = Pace.of(then).error
    sure = change_evidence(figure, before, dataclasses.replace(after, seconds_error=0.0), 0.95)
    unsure = change_evidence(figure, before, after, 0.95)
    assert unsure.estimate == widened(sure.estimate, error) != sure.estimate
    # Twice the time is beyond 1.9, but not by the error.
    assert sure.chance(figure, 1.9, 0.01) == 1 / 252
    assert unsure.chance(figure, 1.9, 0.01) > 0.01


def test_so_are_gates_of_suites():
    today = [make_case_result(name) for name in ("conv2d", "matmul")]
    then = [
        dataclasses.replace(
            case,
            runs=tuple(
                dataclasses.replace(run, recorded=Recording("2026", ratio * 2.0, run.final))
                if run.strategy == "default"
                else run
                for run, ratio in zip(case.runs, RATIOS, strict=True)
            ),
        )
        for case in today
    ]
    limits = Limits({"search_ratio": 0.9})

    def figures(cases):
        [verdict, *_] = judge_suites(cases, Criteria(), limits)
        return {figure.metric: figure.estimate for figure in verdict.figures}

    one, other = figures(today), figures(then)
    error = Pace.of(then[0].runs_of("default")).error
    assert other["search_ratio"].high > one["search_ratio"].high * math.exp(error / 2)
    assert other["search_ratio_trials"] == one["search_ratio_trials"]
    assert other["throughput_ratio"] == one["throughput_ratio"]


def test_and_changes_of_suites():
    before = [case(name, repeats=4) for name in ("a", "b")]
    ratios = (1.1, 1 / 1.1, 1.05, 1 / 1.05)
    after = []
    for one in before:
        then = [
            dataclasses.replace(
                run, recorded=Recording("2026", by * run.rounds[0].search_s, run.final)
            )
            for run, by in zip(one.runs_of("default"), ratios, strict=True)
        ]
        after.append(dataclasses.replace(one, runs=(*then, *one.runs_of("fast"))))
    error = Pace.of(then).error

    def ratios_since(cases):
        compared = list(zip(before, cases, strict=True))
        found = suite_changes(compared, (), criteria=Criteria(), family=1)
        return {change.metric: change.ratio for change in found.changes}

    one, other = ratios_since(before), ratios_since(after)
    assert other["search_ratio"].high == pytest.approx(
        one["search_ratio"].high * math.exp(error), rel=5e-3
    )
    assert error > 0.05
    assert other["throughput_ratio"] == one["throughput_ratio"]
