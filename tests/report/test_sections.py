"""The parts of a report."""

from __future__ import annotations

import pytest

from pytest_ansorbench.report.cells import Count, Text
from pytest_ansorbench.report.sections import (
    Axis,
    Chart,
    Column,
    Group,
    Lines,
    Report,
    Section,
    Table,
)

COLUMNS = (Column("name", "name", kind="words"), Column("trials", "trials"))
ROW = (Text("a"), Count(1))


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="bad row of 1 cells: expected one for each of the 2"):
        Table(COLUMNS, (Group((ROW, (Text("b"),))),))


def test_cells_are_found_by_the_key_of_their_column() -> None:
    table = Table(COLUMNS, (Group((ROW,)), Group(((Text("b"), Count(2)),), "summary")))
    assert table.column("trials") == (Count(1), Count(2))
    with pytest.raises(ValueError, match="other"):
        table.column("other")


def test_a_report_has_no_empty_parts() -> None:
    axis = Axis("trials")
    empty = (Lines(()), Table(COLUMNS, ()), Chart(axis, axis, ()))
    full = Lines(("words",))
    report = Report.of(Section("none", empty), Section("some", (*empty, full), subject="case"))
    assert report == Report((Section("some", (full,), subject="case"),))
