"""The table of cases: a row for each strategy of a case, then for each over several cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_ansorbench.records import CaseResult, SuiteVerdict
from pytest_ansorbench.report.cells import Cell, Text
from pytest_ansorbench.report.columns import COLUMNS, RATIO_COLUMNS
from pytest_ansorbench.report.layout import Layout
from pytest_ansorbench.report.rows import ArmRow, case_rows
from pytest_ansorbench.report.sections import Group, Lines, Section, Table
from pytest_ansorbench.report.sorting import sort_cases
from pytest_ansorbench.report.time_units import in_unit
from pytest_ansorbench.stats.suite import ALL_CASES, group_of


def case_table(
    cases: Sequence[CaseResult],
    layout: Layout = Layout(),  # noqa: B008 -- frozen
    suites: Sequence[SuiteVerdict] = (),
) -> Section:
    """Tabulate a session.

    Args:
        cases: The cases; the reference's row is the first of each.
        layout: Columns, order and groups.
        suites: Verdicts over all cases and over groups of them.

    Returns:
        A table, or a sentence if there are no cases. From two cases on, or with a verdict over
        them, rows over all cases and over each group of them sum it up: at the end, or below the
        group.

    Raises:
        ColumnError: There is no such sort key.
    """
    if not cases:
        return Section("cases", (Lines((("no results: no case was run",),)),))
    keys = layout.columns_for(cases)
    in_order = sort_cases(cases, layout.sort)
    if layout.group_by == "network":
        in_order = tuple(sorted(in_order, key=_is_network))
    by_case = {case.case: case_rows(case) for case in in_order}
    shown = [suite for suite in suites if _worth_a_row(suite, keys)]
    match layout.group_by:
        case "case":
            groups = _by_case(by_case, shown, keys)
        case "family":
            families = {case.case: group_of(case.case) for case in in_order}
            groups = _by_group(by_case, shown, keys, families)
        case "network":
            networks = {case.case: group_of(case.case) for case in in_order if _is_network(case)}
            groups = _by_group(by_case, shown, keys, networks)
        case "strategy":
            groups = _by_strategy(by_case, shown, keys)
    columns = tuple(COLUMNS[key].column for key in keys)
    table = Table(columns, tuple(filter(lambda group: group.rows, groups)))
    return Section("cases", (in_unit(table, layout.time_unit),))


def _by_case(
    by_case: dict[str, tuple[ArmRow, ...]], suites: Sequence[SuiteVerdict], columns: Sequence[str]
) -> Iterator[Group]:
    for rows in by_case.values():
        yield _body(rows, columns)
    yield _summary([suite for suite in suites if not suite.group], columns)
    yield _summary([suite for suite in suites if suite.group], columns)


def _by_group(
    by_case: dict[str, tuple[ArmRow, ...]],
    suites: Sequence[SuiteVerdict],
    columns: Sequence[str],
    group_of_case: Mapping[str, str],
) -> Iterator[Group]:
    """The cases of each group, with its sums; those that are in none stand together as well."""
    for group in dict.fromkeys(group_of_case.get(case, "") for case in by_case):
        for case, rows in by_case.items():
            if group_of_case.get(case, "") == group:
                yield _body(rows, columns)
        yield _summary([suite for suite in suites if suite.group == group != ""], columns)
    yield _summary([suite for suite in suites if not suite.group], columns)


def _is_network(case: CaseResult) -> bool:
    """Whether a case has several tasks; told by its runs."""
    return any(len(run.tasks) > 1 for run in case.runs)


def _by_strategy(
    by_case: dict[str, tuple[ArmRow, ...]], suites: Sequence[SuiteVerdict], columns: Sequence[str]
) -> Iterator[Group]:
    of_all = [row for rows in by_case.values() for row in rows]
    for strategy in dict.fromkeys(row.strategy for row in of_all):
        yield _body([row for row in of_all if row.strategy == strategy], columns)
        yield _summary([suite for suite in suites if suite.challenger == strategy], columns)


def _body(rows: Sequence[ArmRow], columns: Sequence[str]) -> Group:
    return Group(tuple(tuple(COLUMNS[key].cell(row) for key in columns) for row in rows))


def _summary(suites: Sequence[SuiteVerdict], columns: Sequence[str]) -> Group:
    return Group(tuple(_suite_cells(suite, columns) for suite in suites), "summary")


def _worth_a_row(suite: SuiteVerdict, columns: Sequence[str]) -> bool:
    """A suite of one case repeats it, and without a name for the row nobody could read it."""
    named = "case" in columns or "strategy" in columns
    told = len(suite.cases) > 1 and any(key in columns for key in RATIO_COLUMNS)
    return named and (told or (bool(suite.gates) and "verdict" in columns))


def _suite_cells(suite: SuiteVerdict, columns: Sequence[str]) -> tuple[Cell, ...]:
    """A row over several cases, named by whichever of case and strategy is shown."""
    label = " of ".join(filter(None, (ALL_CASES, suite.group)))
    both = "case" in columns and "strategy" in columns
    alone = ", ".join((label, suite.challenger))
    words = {
        "case": Text(label if both else alone),
        "strategy": Text(suite.challenger if both else alone),
    }
    return tuple(words.get(key, COLUMNS[key].suite(suite)) for key in columns)
