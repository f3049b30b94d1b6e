"""Whole reports: their sections, and the order they come in."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import CaseResult, Estimate, Gate, MachineState
from pytest_ansorbench.report.build import (
    changes_report,
    failure_report,
    full_report,
    result_report,
    tasks_report,
)
from pytest_ansorbench.report.sections import Code, Report, Section
from pytest_ansorbench.report.table import Layout
from pytest_ansorbench.search import TaskDescription
from pytest_ansorbench.stats.changes import CaseChanges, Change
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.suite import judge_suites
from tests.report.rendered import lines_of, simple_cells
from tests.synthetic import CRITERIA, make_case_result, make_judged, make_run, with_runs

GATE = Gate("search_ratio", 1.05, "broken", "beyond", Estimate(1.5, 1.2, 1.9), 5, 0.01)
CHANGE = Change("conv2d", "fast", "search_ratio", 0.5, 0.75, Estimate(1.5, 1.2, 1.9), GATE)
CHANGES = CaseChanges("conv2d", (CHANGE,))


def keys(report: Report) -> list[str]:
    return [section.key for section in report.sections]


def test_a_result_is_a_table_if_there_is_nothing_to_say_of_it() -> None:
    assert keys(result_report(make_judged(make_case_result()))) == ["verdicts", "cases"]


def test_legend_controls_and_warnings_are_notes_in_this_order() -> None:
    again = {"default-again": [make_run(strategy="default-again", seed=s) for s in range(4)]}
    case = make_case_result(challengers=again, control="default-again")
    busy = MachineState(0.9, 0.0, None, None)
    judged = make_judged(with_runs(case, before=busy))
    report = result_report(judged, Layout(("case", "verdict")), explained="fully")
    assert keys(report) == ["verdicts", "cases", "notes"]
    starts = [line.split(":")[0] for line in lines_of(report.sections[2])]
    assert starts == ["verdict", "control", "warning"]


def test_the_gates_of_a_suite_are_told_unless_they_hold() -> None:
    case = make_case_result()
    [suite] = judge_suites([case], CRITERIA, Limits({"search_ratio": 0.9}))
    assert suite.outcome == "holds"
    assert keys(result_report(make_judged(case, suites=(suite,)))) == ["verdicts", "cases"]
    broken = dataclasses.replace(suite, gates=(GATE,))
    report = result_report(make_judged(case, suites=(broken,)))
    assert lines_of(report.sections[2]) == [
        "suite of 1 case, fast against default: search ratio S = 1.50 [1.20, 1.90] exceeds the "
        "limit 1.05: broken"
    ]


def test_details_are_a_section_for_each_case() -> None:
    judged = make_judged(make_case_result("a"), make_case_result("b"))
    report = result_report(judged, detailed=True)
    assert keys(report) == ["verdicts", "cases", "details", "details"]
    assert [section.subject for section in report.sections[2:]] == ["a", "b"]


def test_the_legend_counts_the_seeds_of_all_cases() -> None:
    two = make_case_result(
        "two",
        [make_run("two", seed=seed) for seed in range(2)],
        {"fast": [make_run("two", "fast", seed) for seed in range(2)]},
    )
    report = result_report(make_judged(make_case_result(), two), explained="fully")
    assert "over 2 to 4 seeds" in "\n".join(lines_of(report.sections[2]))


def test_a_full_report_goes_from_the_verdicts_to_what_they_rest_on() -> None:
    judged = make_judged(make_case_result("b"), make_case_result("a"))
    rests_on = Section("provenance", (Code("to reproduce", "pytest", "sh"),))
    report = full_report(judged, Layout(sort="case"), rests_on=rests_on)
    assert keys(report) == [
        *("verdicts", "suite", "cases", "notes"),
        *("details", "curves", "pictures") * 2,
        "provenance",
    ]
    assert [section.subject for section in report.sections[4:-1]] == ["a"] * 3 + ["b"] * 3


def test_a_full_report_of_one_strategy_has_no_verdict() -> None:
    alone = CaseResult("conv2d", ("default",), (make_run(),), ())
    assert keys(full_report(make_judged(alone)))[:1] == ["cases"]


def test_no_case_is_a_report_too() -> None:
    report = result_report(make_judged(), explained="fully", detailed=True)
    assert lines_of(report.sections[0]) == ["no results: no case was run"]


def test_in_brief_only_ratios_and_intervals_are_explained() -> None:
    judged = make_judged(make_case_result())
    report = result_report(judged, explained="briefly")
    assert lines_of(report.sections[2]) == [
        "S: search time to the reference's upper throughputs, below 1 it is sooner; throughput "
        "ratio: of the final kernels, above 1 its are faster",
        "[low, high]: 95% interval over 4 seeds",
    ]
    few = result_report(judged, Layout(("case",)), explained="briefly")
    assert keys(few) == ["verdicts", "cases"]


def test_a_case_without_runs_denies_no_interval() -> None:
    empty = CaseResult("matmul", ("default", "fast"), (), ())
    report = result_report(make_judged(make_case_result(), empty), explained="briefly")
    assert "[low, high]: 95% interval over 4 seeds" in lines_of(report.sections[2])


def test_changes_are_a_table_and_notes() -> None:
    report = changes_report([CHANGES, CaseChanges("new", (), "it is new")], "--any")
    assert keys(report) == ["changes", "notes"]
    assert lines_of(report.sections[1]) == [
        "conv2d, fast: search_ratio now over before = 1.50 [1.20, 1.90] exceeds the limit 1.05: "
        "broken",
        "new: not compared: it is new",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (None, ["cases"]),
        (CaseChanges("conv2d", (), "it is new"), ["cases"]),
        (CHANGES, ["cases", "changes"]),
    ],
)
def test_a_failure_shows_what_changed_if_that_is_known(
    changes: CaseChanges | None, expected: list[str]
) -> None:
    assert keys(failure_report(make_case_result(), changes)) == expected


def test_tasks_are_listed_and_added_up() -> None:
    conv = TaskDescription("conv", 3, 10**9, ((1, 3, 8, 8), (4, 3, 3, 3), (1, 4, 8, 8)), 2, True)
    mean = TaskDescription("mean\x07", 1, 12345, ((1, 4), ()), 1, False)
    table, sums = tasks_report([conv, mean]).sections
    assert simple_cells("\n".join(lines_of(table))) == [
        ["id", "task", "weight", "MFLOP", "shapes", "sketches"],
        ["0", "conv", "3", "1000.000", "1x3x8x8, 4x3x3x3 -> 1x4x8x8", "2"],
        ["1", "mean?", "1", "0.012", "1x4 -> scalar", "nothing to tune"],
    ]
    assert lines_of(sums) == [
        "2 tasks, 1 to tune; 4 calls, 3000.0 MFLOP in all, as TVM counts them"
    ]
