"""The table of cases: a row for each strategy of a case, then for each over several cases."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import CaseResult, SuiteVerdict
from pytest_ansorbench.report.cells import Cell, Text
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS, RATIO_COLUMNS
from pytest_ansorbench.report.rows import case_rows
from pytest_ansorbench.report.sections import Group, Lines, Section, Table
from pytest_ansorbench.report.sorting import DEFAULT_SORT, sort_cases
from pytest_ansorbench.stats.suite import ALL_CASES


def case_table(
    cases: Sequence[CaseResult],
    columns: Sequence[str] = DEFAULT_COLUMNS,
    sort: str = DEFAULT_SORT,
    suites: Sequence[SuiteVerdict] = (),
) -> Section:
    """Tabulate a session.

    Args:
        cases: The cases; the rows of one are a group, the reference on top.
        columns: Keys of the columns, as `parse_columns` returns them.
        sort: Key to sort the cases by, as `parse_sort` returns it.
        suites: Verdicts over all cases and over groups of them.

    Returns:
        A table, or a sentence if there are no cases. From two cases on, or with a verdict over
        them, a summary follows: a row for each challenger over all cases, then over each group.

    Raises:
        ColumnError: There is no such sort key.
    """
    if not cases:
        return Section("cases", (Lines((("no results: no case was run",),)),))
    chosen = [COLUMNS[key] for key in columns]
    groups = [
        Group(tuple(tuple(entry.cell(row) for entry in chosen) for row in case_rows(case)))
        for case in sort_cases(cases, sort)
    ]
    shown = [suite for suite in suites if _worth_a_row(suite, columns)]
    for summed_up in (
        [suite for suite in shown if not suite.group],
        [suite for suite in shown if suite.group],
    ):
        if summed_up:
            rows = tuple(_suite_cells(suite, columns) for suite in summed_up)
            groups.append(Group(rows, "summary"))
    return Section("cases", (Table(tuple(entry.column for entry in chosen), tuple(groups)),))


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
