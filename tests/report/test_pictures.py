"""What figures show best."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pytest_ansorbench.records import CaseResult, Estimate, Run
from pytest_ansorbench.report.cells import Count, Text
from pytest_ansorbench.report.pictures import (
    ablation,
    failures,
    forests,
    phases,
    sketch_shares,
    way,
)
from pytest_ansorbench.stats.distribution import case_ways
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.suite import judge_suites
from tests.synthetic import CRITERIA, make_case_result, make_run


def test_ratios_of_cases_then_of_all_of_them() -> None:
    cases = [make_case_result("a"), make_case_result("b")]
    suites = judge_suites(cases, CRITERIA, Limits({}))
    ratios, throughputs = forests(cases, suites)
    assert [(row.label, row.role) for row in ratios.rows] == [
        ("a", "body"),
        ("b", "body"),
        ("all cases, fast", "summary"),
    ]
    assert [row.estimate.value for row in ratios.rows] == pytest.approx([0.5] * 3, rel=1e-3)
    assert (ratios.limit, throughputs.limit) == (0.75, 0.98)
    assert "below 1" in ratios.ratio.heading and "above 1" in throughputs.ratio.heading


def test_a_limit_that_differs_between_cases_is_not_drawn() -> None:
    cases = [
        make_case_result("a"),
        make_case_result("b", limits=Limits({"search_ratio": 0.5})),
    ]
    assert [forest.limit for forest in forests(cases, ())] == [None, 0.98]


def test_a_case_of_three_arms_names_the_challenger() -> None:
    arms = {
        name: [make_run(strategy=name, seed=seed, final=1.0) for seed in range(4)]
        for name in ("fast", "slow")
    }
    ratios, _ = forests([make_case_result(challengers=arms)], ())
    assert [row.label for row in ratios.rows] == ["conv2d, fast", "conv2d, slow"]


def test_what_could_not_be_compared_has_no_row() -> None:
    case = make_case_result()
    [verdict] = case.verdicts
    undefined = Estimate(0.0, 0.0, math.inf, "undefined")
    comparison = dataclasses.replace(verdict.comparison, throughput_ratio=undefined)
    verdict = dataclasses.replace(verdict, comparison=comparison)
    ratios, throughputs = forests([dataclasses.replace(case, verdicts=(verdict,))], ())
    assert (len(ratios.rows), throughputs.rows) == (1, ())


def test_seconds_of_a_run_by_phase() -> None:
    bars = phases(make_case_result())
    assert [*bars.parts] == ["propose", "build", "run", "learn"]
    assert [(stack.label, stack.lengths) for stack in bars.stacks] == [
        ("default", (2.0, 1.0, 0.5, 0.5)),
        ("fast", (1.0, 0.5, 0.25, 0.25)),
    ]


def test_a_strategy_alone_has_its_seconds_as_well() -> None:
    bars = phases(CaseResult("conv2d", ("default",), (make_run(),), ()))
    assert [(one.label, one.lengths) for one in bars.stacks] == [("default", (2.0, 1.0, 0.5, 0.5))]


def two_sketches(run: Run, *sketches: int) -> Run:
    trials = tuple(
        dataclasses.replace(trial, sketch=sketch)
        for trial, sketch in zip(run.trials, sketches, strict=True)
    )
    [task] = run.tasks
    return dataclasses.replace(
        run, trials=trials, tasks=(dataclasses.replace(task, sketches=("x", "y")),)
    )


def test_sketches_are_counted_over_the_trials() -> None:
    runs = (two_sketches(make_run(), 0, 1, 1, 1), two_sketches(make_run(seed=1), 0, 0, 1, 1))
    name, bars = sketch_shares(CaseResult("conv2d", ("default",), runs, ()), "default")
    assert name.sentences[0] == "default"
    assert [*bars.parts] == ["sketch 0", "sketch 1"]
    assert [(stack.label, stack.lengths) for stack in bars.stacks] == [
        ("1 to 1", (2.0, 0.0)),
        ("2 to 2", (1.0, 1.0)),
        ("3 to 3", (0.0, 2.0)),
        ("4 to 4", (0.0, 2.0)),
    ]


def test_trials_of_no_sketch_are_counted_as_well() -> None:
    runs = (two_sketches(make_run(), 0, -1, -1, 1),)
    _, bars = sketch_shares(CaseResult("conv2d", ("default",), runs, ()), "default")
    assert [*bars.parts] == ["sketch 0", "sketch 1", "none of them"]
    assert [sum(stack.lengths) for stack in bars.stacks] == [1.0] * 4


def test_one_sketch_is_no_choice() -> None:
    assert list(sketch_shares(make_case_result(), "fast")) == []


def test_failures_by_arm_status_and_message_the_most_frequent_first() -> None:
    runs = (
        make_run(latencies=[1.0, None]),
        make_run(strategy="fast", latencies=[None, None, 1.0]),
    )
    table = failures(CaseResult("conv2d", ("default", "fast"), runs, ()))
    assert table.rows == (
        (Text("fast"), Text("run-error"), Count(2), Text("boom")),
        (Text("default"), Text("run-error"), Count(1), Text("boom")),
    )
    assert failures(make_case_result()).rows == ()


def test_times_to_targets_along_the_way() -> None:
    case = make_case_result()
    forest = way(case, case_ways(case, CRITERIA))
    labels = [row.label for row in forest.rows]
    assert labels[0].startswith("fast to ") and labels[-1] == "fast to 100% of the gain"
    assert {row.estimate.value for row in forest.rows} == {0.5}


def test_an_ablation_has_a_row_for_each_strategy_over_all_cases() -> None:
    cases = [
        make_case_result(
            case,
            challengers={
                name: [
                    make_run(case=case, strategy=name, seed=seed, final=1.0) for seed in range(4)
                ]
                for name in ("fast", "slow")
            },
        )
        for case in ("a", "b")
    ]
    suites = judge_suites(cases, CRITERIA, Limits({}))
    ratios, throughputs = ablation(suites)
    assert [row.label for row in ratios.rows] == ["fast", "slow"]
    assert len(throughputs.rows) == 2
