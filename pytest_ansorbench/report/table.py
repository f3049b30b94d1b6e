"""The table of cases: a row for each strategy of a case, and their means over all cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.cells import Cell, Text
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS, RATIO_COLUMNS
from pytest_ansorbench.report.rows import MeanRow, case_rows, mean_rows
from pytest_ansorbench.report.sections import Group, Lines, Section, Table
from pytest_ansorbench.report.sorting import DEFAULT_SORT, sort_cases

MEAN_LABEL: Final = "geometric mean"


def case_table(
    cases: Sequence[CaseResult],
    columns: Sequence[str] = DEFAULT_COLUMNS,
    sort: str = DEFAULT_SORT,
) -> Section:
    """Tabulate a session.

    Args:
        cases: The cases; the rows of one are a group, the reference on top.
        columns: Keys of the columns, as `parse_columns` returns them.
        sort: Key to sort the cases by, as `parse_sort` returns it.

    Returns:
        A table, or a sentence if there are no cases. From two cases on, a summary follows: a
        row for each challenger with its geometric means.

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
    means = mean_rows(cases) if _wants_means(cases, columns) else ()
    if means:
        groups.append(Group(tuple(_mean_cells(row, columns) for row in means), "summary"))
    return Section("cases", (Table(tuple(entry.column for entry in chosen), tuple(groups)),))


def _wants_means(cases: Sequence[CaseResult], columns: Sequence[str]) -> bool:
    """A mean of one case repeats it, and without a name for the row nobody could read it."""
    named = "case" in columns or "strategy" in columns
    return len(cases) > 1 and named and any(key in columns for key in RATIO_COLUMNS)


def _mean_cells(row: MeanRow, columns: Sequence[str]) -> tuple[Cell, ...]:
    """One row of means, named by whichever of case and strategy is shown."""
    both = "case" in columns and "strategy" in columns
    label = MEAN_LABEL if both else " ".join((MEAN_LABEL, "of", row.strategy))
    words = {
        "case": Text(label),
        "strategy": Text(row.strategy if both else label),
    }
    return tuple(words.get(key, COLUMNS[key].mean(row)) for key in columns)
