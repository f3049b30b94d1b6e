"""The table, cell by cell."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_ansorbench.records import CaseResult, Estimate
from pytest_ansorbench.report.cells import (
    REFERENCE,
    Cell,
    Count,
    Gap,
    Ratio,
    Seconds,
    SuiteRatio,
    TimeToTarget,
)
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS, ColumnError
from pytest_ansorbench.report.sections import Column, Group, Section, Table
from pytest_ansorbench.report.table import (
    GROUPINGS,
    SORT_KEYS,
    TIME_UNITS,
    Grouping,
    Layout,
    WantedUnit,
    case_table,
    in_unit,
    parse_grouping,
    parse_time_unit,
    sort_cases,
)
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.suite import judge_suites
from tests.report.rendered import column, rendered, simple_cells
from tests.synthetic import held_against, make_case_result, make_run, with_runs

#: Without what kernels are compared with besides each other, which `test_yardsticks` has.
ALL = tuple(key for key in COLUMNS if not key.startswith(("of_peak", "over_")))


def with_suites(
    cases: Sequence[CaseResult], columns: Sequence[str] = DEFAULT_COLUMNS, sort: str = "order"
) -> Section:
    """The table with its rows over several cases."""
    suites = judge_suites(cases, Criteria(), Limits())
    return case_table(cases, Layout(tuple(columns), sort), suites)


def shown(*arguments: Any) -> str:
    """The table of cases for a terminal."""
    return rendered(with_suites(*arguments))


def cells_of(*arguments: Any) -> list[list[str]]:
    """Its cells."""
    return simple_cells(shown(*arguments))


def lone_case() -> CaseResult:
    runs = tuple(make_run("alone", seed=seed, final=0.5) for seed in range(2))
    return CaseResult("alone", ("default",), runs, ())


def case(
    name: str, seconds: float, *, final: float = 1.0, latency: float = 1.0, repeats: int = 4
) -> CaseResult:
    """A case whose challenger takes `seconds` a trial, the reference 1."""
    return make_case_result(
        name,
        [make_run(name, seed=s, final=1.0) for s in range(repeats)],
        {
            "fast": [
                make_run(
                    name,
                    "fast",
                    s,
                    latencies=[4.0, None, 2.0, latency],
                    seconds_per_trial=seconds,
                    final=final,
                )
                for s in range(repeats)
            ]
        },
    )


def test_a_row_per_case_and_strategy() -> None:
    cells = cells_of([case("conv2d", 0.5, final=0.8)], ALL)
    assert cells == [
        [
            "case", "strategy", "trials", "search time (s)", "time to target (s)", "S", "S_early",
            "S_paper", "S_trials", "S to target", "GFLOP/s", "throughput ratio", "optimism",
            "failed", "reached", "verdict", "propose (s)", "build (s)", "run (s)", "learn (s)",
        ],
        [
            "conv2d", "default", "16", "4.00", "4.00", "1 (ref)", "1 (ref)", "1 (ref)",
            "1 (ref)", "1 (ref)", "1.00", "1 (ref)", "1.00", "0/16", "4/4", "-", "2.00", "1.00",
            "0.50", "0.50",
        ],
        [
            "conv2d", "fast", "16", "2.00", "2.00", "0.50 [0.50, 0.50]", "0.50 [0.50, 0.50]",
            "0.50 [0.50, 0.50]",
            "1.00 [1.00, 1.00]", "0.50 [0.50, 0.50]", "1.25", "1.25 [1.25, 1.25]", "0.80", "4/16",
            "4/4", "holds", "1.00", "0.50", "0.25", "0.25",
        ],
    ]  # fmt: skip


def test_misses_show_how_many_arrived() -> None:
    reference = [make_run(seed=s) for s in range(4)]
    fast = [make_run(strategy="fast", seed=s, latencies=[9, 1] if s else [9]) for s in range(4)]
    table = shown([make_case_result(reference=reference, challengers={"fast": fast})])
    assert column(simple_cells(table), "time to target (s)") == ["4.00", "2.33 (3/4)"]
    assert column(simple_cells(table), "GFLOP/s") == ["n/a", "n/a"]


@pytest.mark.parametrize(
    ("reference", "challenger", "times", "ratio"),
    [
        ([1.0], [2.0, 2.0], ["1.00", "never (0/5)"], ">= 2.00"),
        ([None], [1.0], ["never (0/5)", "1.00"], "<= 1.00"),
        ([None], [None], ["never (0/5)", "never (0/5)"], "n/a"),
    ],
)
def test_bounds(
    reference: list[float | None], challenger: list[float | None], times: list[str], ratio: str
) -> None:
    result = make_case_result(
        reference=[make_run(seed=s, latencies=reference) for s in range(5)],
        challengers={
            "fast": [make_run(strategy="fast", seed=s, latencies=challenger) for s in range(5)]
        },
    )
    cells = cells_of([result])
    assert column(cells, "time to target (s)") == times
    assert column(cells, "S") == ["1 (ref)", ratio]
    assert column(cells, "verdict") == ["-", "broken"]


def test_a_case_without_challengers_is_shown_from_its_runs() -> None:
    cells = cells_of([lone_case()], ALL)
    assert cells[1:] == [
        [
            "alone", "default", "8", "4.00", "-", "-", "-", "-", "-", "-", "2.00", "-", "0.50",
            "0/8", "-", "-", "2.00", "1.00", "0.50", "0.50",
        ]
    ]  # fmt: skip


def test_a_strategy_without_a_run_is_not_dropped() -> None:
    result = dataclasses.replace(lone_case(), strategies=("default", "fast"))
    cells = cells_of([result])
    assert column(cells, "strategy") == ["default", "fast"]
    assert column(cells, "trials") == ["8", "n/a"]


def test_a_challenger_without_gates_has_no_verdict() -> None:
    cells = cells_of([make_case_result(limits=Limits())])
    assert column(cells, "verdict") == ["-", "-"]


def test_ratios_over_all_cases_come_last() -> None:
    cases = [case("a", 0.5, final=0.5), case("b", 0.125)]
    cells = cells_of(cases, ALL)
    assert column(cells, "case")[-1] == "all cases"
    assert column(cells, "strategy")[-1] == "fast"
    assert re.fullmatch(r"0\.\d\d \[0\.1\d, 0\.5\d\]", column(cells, "S")[-1])
    assert column(cells, "S_paper")[-1] == "0.25"
    assert column(cells, "S_trials")[-1].startswith("1.00 [")
    assert column(cells, "throughput ratio")[-1].startswith("1.4")
    assert column(cells, "verdict")[-1] == "-"


def test_groups_of_operators_have_rows_after_those_of_all_cases() -> None:
    cases = [case(name, 0.5) for name in ("matmul-b1-m2", "matmul-b1-m4", "conv1d-n1")]
    cells = cells_of(cases)
    assert column(cells, "case")[-2:] == ["all cases", "all cases of matmul"]


def test_a_suite_that_is_gated_has_a_row_and_a_verdict() -> None:
    cases = [case("a", 0.5)]
    suites = judge_suites(cases, Criteria(), Limits({"search_ratio": 0.9}))
    table = case_table(cases, suites=suites)
    assert column(simple_cells(rendered(table)), "verdict")[-1] == "holds"


def test_they_tell_how_many_cases_they_leave_out() -> None:
    cases = [case("a", 0.5), case("b", 0.125), case("miss", 0.5, latency=3.0)]
    assert column(cells_of(cases, ALL), "S to target")[-1] == "0.25 (2 of 3)"
    only_misses = [case("miss", 0.5, latency=3.0), case("miss again", 0.5, latency=3.0)]
    assert column(cells_of(only_misses, ALL), "S to target")[-1] == "n/a"


def test_each_challenger_has_its_row() -> None:
    reference = [make_run(seed=s, final=1.0) for s in range(2)]
    challengers = {
        name: [
            make_run(strategy=name, seed=s, seconds_per_trial=seconds, final=1.0) for s in range(2)
        ]
        for name, seconds in (("half", 0.5), ("quarter", 0.25))
    }
    result = make_case_result(reference=reference, challengers=challengers)
    cells = cells_of([result, result])
    assert column(cells, "strategy")[-2:] == ["half", "quarter"]
    assert [cell[:4] for cell in column(cells, "S")[-2:]] == ["0.50", "0.25"]


@pytest.mark.parametrize("group_by", GROUPINGS)
def test_two_tests_of_one_case_have_rows_each(group_by: Grouping) -> None:
    section = case_table([case("a", 0.5), case("a", 0.25)], Layout(group_by=group_by))
    times = column(simple_cells(rendered(section)), "search time (s)")
    assert sorted(times) == ["1.00", "2.00", "4.00", "4.00"]


def test_two_tests_of_one_case_both_count_in_means() -> None:
    cells = cells_of([case("a", 0.5), case("a", 0.125)], ALL)
    assert column(cells, "S_paper")[-1] == "0.25"


def test_one_case_needs_no_row_over_cases() -> None:
    assert "all cases" not in shown([case("a", 0.5), lone_case()][:1])


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        (("case", "search_ratio"), "all cases, fast"),
        (("strategy", "search_ratio"), "all cases, fast"),
    ],
)
def test_a_suite_is_named_whatever_columns_there_are(columns: tuple[str, ...], label: str) -> None:
    cells = cells_of([case("a", 0.5), case("b", 0.5)], columns)
    assert cells[-1] == [label, "0.50 [0.50, 0.50]"]


@pytest.mark.parametrize("columns", [("search_ratio",), ("case", "strategy", "trials")])
def test_no_suite_without_a_name_or_a_ratio(columns: tuple[str, ...]) -> None:
    assert len(cells_of([case("a", 0.5), case("b", 0.5)], columns)) == 5


def test_long_ids_are_kept_whole() -> None:
    name = "conv2d-" + "x" * 300
    cells = cells_of([case(name, 0.5), case("short", 0.5)])
    assert column(cells, "case") == [name, name, "short", "short", "all cases"]


def test_ids_that_look_like_numbers_stay_text() -> None:
    assert column(cells_of([case("007", 0.5)]), "case") == ["007", "007"]


def test_suites_are_set_off_by_a_line() -> None:
    lines = shown([case("a", 0.5), case("b", 0.5)], ("case", "search_ratio")).split("\n")
    assert [number for number, line in enumerate(lines) if set(line) <= {"-", " "}] == [1, 6]


def test_rows_of_a_case_are_a_group_and_suites_a_summary() -> None:
    [table] = with_suites([case("a", 0.5), case("b", 0.5)], ALL).blocks
    assert [(len(group.rows), group.role) for group in table.groups] == [
        (2, "body"),
        (2, "body"),
        (1, "summary"),
    ]


def test_cells_are_figures_in_the_unit_of_their_column() -> None:
    cases = [case("a", 0.5), case("b", 0.5, latency=3.0), lone_case()]
    [table] = with_suites(cases, ALL).blocks
    for column_, *cells in zip(table.columns, *table.rows, strict=True):
        timed = any(isinstance(cell, Seconds | TimeToTarget) for cell in cells)
        assert timed == (column_.unit == "s")
    assert table.column("search_ratio")[:2] == (REFERENCE, Ratio(Estimate(0.5, 0.5, 0.5)))
    assert table.column("search_time")[:2] == (Seconds(4.0), Seconds(2.0))
    mean = SuiteRatio(Estimate(0.5, 0.0, math.inf), 1, 2)
    assert table.column("running_time_ratio")[-1] == mean
    assert table.column("verdict")[0] == Gap.IRRELEVANT


def order(key: str) -> list[str]:
    cases = [
        lone_case(),
        case("slow", 2.0),
        case("quick", 0.25, final=2.0),
        case("middle", 0.5),
        case("miss", 0.5, latency=3.0, final=3.0),
    ]
    return [result.case for result in sort_cases(cases, key)]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("order", ["alone", "slow", "quick", "middle", "miss"]),
        ("case", ["alone", "middle", "miss", "quick", "slow"]),
        ("search_ratio", ["quick", "middle", "miss", "slow", "alone"]),
        ("search_ratio_trials", ["slow", "quick", "middle", "miss", "alone"]),
        ("throughput_ratio", ["miss", "quick", "slow", "middle", "alone"]),
        ("search_time", ["quick", "middle", "miss", "alone", "slow"]),
        ("time_to_target", ["quick", "middle", "slow", "alone", "miss"]),
        ("verdict", ["slow", "quick", "miss", "middle", "alone"]),
    ],
)
def test_cases_are_sorted_by_their_first_challenger(key: str, expected: list[str]) -> None:
    assert order(key) == expected


def test_a_case_with_nothing_to_compare_is_sorted_last() -> None:
    nothing = make_case_result(
        "nothing",
        [make_run("nothing", latencies=[None])],
        {"fast": [make_run("nothing", "fast", latencies=[None])]},
    )
    cases = sort_cases([nothing, case("slow", 2.0)], "search_ratio")
    assert [result.case for result in cases] == ["slow", "nothing"]


@pytest.mark.parametrize("key", SORT_KEYS)
def test_sorting_keeps_the_reference_above_its_challengers(key: str) -> None:
    cells = cells_of([case("b", 0.5), case("a", 0.25)], DEFAULT_COLUMNS, key)
    assert column(cells, "strategy") == ["default", "fast", "default", "fast", "fast"]
    names = column(cells, "case")
    assert names[0] == names[1] != names[2] == names[3]


def test_an_unknown_sort_key_is_refused() -> None:
    with pytest.raises(ColumnError, match="bad sort key 'foo'"):
        case_table([lone_case()], Layout(sort="foo"))


def grouped(group_by: Grouping) -> list[tuple[str, str, str]]:
    """Role of the group, case and strategy of each row."""
    names = ("conv2d-n1", "matmul-m1", "conv2d-n2", "matmul-m2")
    cases = [make_case_result(name) for name in names]
    suites = judge_suites(cases, Criteria(), Limits())
    [table] = case_table(cases, Layout(group_by=group_by), suites).blocks
    assert isinstance(table, Table)
    return [(group.role, str(row[0]), str(row[1])) for group in table.groups for row in group.rows]


def test_cases_of_a_family_stand_together_with_their_sums() -> None:
    assert grouped("family") == [
        ("body", "conv2d-n1", "default"),
        ("body", "conv2d-n1", "fast"),
        ("body", "conv2d-n2", "default"),
        ("body", "conv2d-n2", "fast"),
        ("summary", "all cases of conv2d", "fast"),
        ("body", "matmul-m1", "default"),
        ("body", "matmul-m1", "fast"),
        ("body", "matmul-m2", "default"),
        ("body", "matmul-m2", "fast"),
        ("summary", "all cases of matmul", "fast"),
        ("summary", "all cases", "fast"),
    ]


def test_rows_of_a_strategy_stand_together_with_its_sums() -> None:
    assert grouped("strategy") == [
        ("body", "conv2d-n1", "default"),
        ("body", "matmul-m1", "default"),
        ("body", "conv2d-n2", "default"),
        ("body", "matmul-m2", "default"),
        ("body", "conv2d-n1", "fast"),
        ("body", "matmul-m1", "fast"),
        ("body", "conv2d-n2", "fast"),
        ("body", "matmul-m2", "fast"),
        ("summary", "all cases", "fast"),
        ("summary", "all cases of conv2d", "fast"),
        ("summary", "all cases of matmul", "fast"),
    ]


def test_an_unknown_grouping_is_refused() -> None:
    with pytest.raises(ColumnError, match="bad grouping 'foo': expected one of case, family"):
        parse_grouping("foo")
    assert parse_grouping(" family ") == "family"


def test_operators_stand_before_networks_which_stand_alone() -> None:
    network = make_case_result("resnet-n1")
    task = network.runs[0].tasks[0]
    network = with_runs(network, tasks=(task, task))
    cases = [make_case_result("conv2d-n1"), network, make_case_result("conv2d-n2")]
    suites = judge_suites(cases, Criteria(), Limits())
    [table] = case_table(cases, Layout(("case", "search_ratio"), group_by="network"), suites).blocks
    assert isinstance(table, Table)
    assert [str(row[0]) for group in table.groups for row in group.rows] == [
        *("conv2d-n1", "conv2d-n1", "conv2d-n2", "conv2d-n2", "resnet-n1", "resnet-n1"),
        "all cases, fast",
    ]


def test_times_are_told_in_the_unit_that_was_asked_for() -> None:
    section = case_table([make_case_result()], Layout(("case", "search_time"), time_unit="ms"))
    cells = simple_cells(rendered(section))
    assert column(cells, "search time (ms)") == ["4000.0", "2000.0"]


TIMES = (Column("trials", "trials"), Column("time", "time", "s"), Column("goal", "goal", "s"))


def timed(*rows: tuple[float, float]) -> Table:
    body: list[tuple[Cell, ...]] = [
        (Count(3), Seconds(time_s), TimeToTarget(goal_s, 2, 2)) for time_s, goal_s in rows
    ]
    return Table(TIMES, (Group(tuple(body)),))


@pytest.mark.parametrize(
    ("wanted", "cells"),
    [
        ("s", [["trials", "time (s)", "goal (s)"], ["3", "0.25", "0.50"]]),
        ("ms", [["trials", "time (ms)", "goal (ms)"], ["3", "250.0", "500.0"]]),
        ("us", [["trials", "time (us)", "goal (us)"], ["3", "250000.0", "500000.0"]]),
        ("auto", [["trials", "time (ms)", "goal (ms)"], ["3", "250.0", "500.0"]]),
    ],
)
def test_times_and_headings_change_together(wanted: WantedUnit, cells: list[list[str]]) -> None:
    assert simple_cells(rendered(in_unit(timed((0.25, 0.5)), wanted))) == cells


def test_the_longest_time_decides() -> None:
    assert in_unit(timed((0.25, 0.5), (1.5, math.inf)), "auto").columns[1].unit == "s"
    assert in_unit(timed((2e-4, 3e-4)), "auto").columns[1].unit == "us"
    assert in_unit(timed((math.inf, math.inf)), "auto").columns[1].unit == "s"
    assert in_unit(timed((0.0, 0.0)), "auto").columns[1].unit == "s"


def test_programs_get_the_figure_in_the_unit_of_its_heading() -> None:
    changed = in_unit(timed((0.25, math.inf)), "ms")
    assert changed.column("time")[0].fields() == {"": 250.0}
    assert changed.column("goal")[0].fields() == {"": "inf", "reached": 2, "runs": 2}


def test_units_are_parsed_and_others_refused() -> None:
    assert [parse_time_unit(unit) for unit in TIME_UNITS] == ["auto", "s", "ms", "us"]
    with pytest.raises(ColumnError, match="bad time unit 'min': expected one of auto, s, ms, us"):
        parse_time_unit("min")


def test_a_kernel_that_no_search_made_has_a_row_without_trials() -> None:
    cells = simple_cells(rendered(case_table([held_against()])))
    assert column(cells, "strategy") == ["default", "fast", "torch"]
    assert column(cells, "trials")[-1] == column(cells, "search time (s)")[-1] == "-"
    assert column(cells, "GFLOP/s")[-1] == "0.50"
