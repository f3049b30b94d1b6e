"""The table: a row per case and strategy, and what they come to over all cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tabulate import SEPARATING_LINE, tabulate

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.columns import COLUMNS, DEFAULT_COLUMNS, RATIO_COLUMNS, Column
from pytest_ansorbench.report.rows import MeanRow, case_rows, mean_rows
from pytest_ansorbench.report.sorting import DEFAULT_SORT, sort_cases
from pytest_ansorbench.report.text import markdown_cell, printable

MEAN_LABEL: Final = "geometric mean"

# tabulate's own `github` leaves the colons out that GitHub aligns columns by; `pipe` is the
# same with them.
_MARKDOWN: Final = ("github", "pipe")


def render_table(
    cases: Sequence[CaseResult],
    columns: Sequence[str] = DEFAULT_COLUMNS,
    sort: str = DEFAULT_SORT,
    tablefmt: str = "simple",
) -> str:
    """Render the table of a session.

    Args:
        cases: The cases; the rows of one stay together, the reference on top.
        columns: Keys of the columns, as `parse_columns` returns them.
        sort: Key to sort the cases by, as `parse_sort` returns it.
        tablefmt: A format of `tabulate`; `github` for Markdown.

    Returns:
        Lines without a newline at the end and without colour; a sentence if there are no
        cases. From two cases on, the last rows are the challengers' geometric means.

    Raises:
        ColumnError: There is no such sort key.
    """
    if not cases:
        return "no results: no case was run"
    chosen = [COLUMNS[key] for key in columns]
    rows = [
        [column.cell(row) for column in chosen]
        for case in sort_cases(cases, sort)
        for row in case_rows(case)
    ]
    means = []
    if _wants_means(cases, columns):
        means = [_mean_cells(row, chosen) for row in mean_rows(cases)]
    escape = markdown_cell if tablefmt in _MARKDOWN else printable
    table: list[list[str] | str] = [[escape(cell) for cell in row] for row in rows]
    if means:
        # In other formats tabulate makes a row of dashes or broken HTML of it.
        if tablefmt == "simple":
            table.append(SEPARATING_LINE)
        table.extend([escape(cell) for cell in row] for row in means)
    rendered: str = tabulate(
        table,
        headers=[column.heading for column in chosen],
        tablefmt="pipe" if tablefmt in _MARKDOWN else tablefmt,
        colalign=["left" if column.is_text else "right" for column in chosen],
        disable_numparse=True,
    )
    return rendered


def _wants_means(cases: Sequence[CaseResult], columns: Sequence[str]) -> bool:
    """A mean of one case repeats it, and without a name for the row nobody could read it."""
    named = "case" in columns or "strategy" in columns
    return len(cases) > 1 and named and any(key in columns for key in RATIO_COLUMNS)


def _mean_cells(row: MeanRow, columns: Sequence[Column]) -> list[str]:
    keys = [column.key for column in columns]
    case, strategy = MEAN_LABEL, row.strategy
    if "strategy" not in keys:
        case = f"{MEAN_LABEL} of {row.strategy}"
    elif "case" not in keys:
        strategy = f"{MEAN_LABEL} of {row.strategy}"
    words = {"case": case, "strategy": strategy}
    return [words.get(column.key, column.mean(row)) for column in columns]
