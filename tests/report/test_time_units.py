"""The unit that the times of a table are told in."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.report import ColumnError, parse_time_unit
from pytest_ansorbench.report.cells import Cell, Count, Seconds, TimeToTarget
from pytest_ansorbench.report.sections import Column, Group, Table
from pytest_ansorbench.report.table import TIME_UNITS, WantedUnit, in_unit
from tests.report.rendered import rendered, simple_cells

COLUMNS = (Column("trials", "trials"), Column("time", "time", "s"), Column("goal", "goal", "s"))


def table(*rows: tuple[float, float]) -> Table:
    body: list[tuple[Cell, ...]] = [
        (Count(3), Seconds(time_s), TimeToTarget(goal_s, 2, 2)) for time_s, goal_s in rows
    ]
    return Table(COLUMNS, (Group(tuple(body)),))


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
    assert simple_cells(rendered(in_unit(table((0.25, 0.5)), wanted))) == cells


def test_the_longest_time_decides() -> None:
    assert in_unit(table((0.25, 0.5), (1.5, math.inf)), "auto").columns[1].unit == "s"
    assert in_unit(table((2e-4, 3e-4)), "auto").columns[1].unit == "us"
    assert in_unit(table((math.inf, math.inf)), "auto").columns[1].unit == "s"
    assert in_unit(table((0.0, 0.0)), "auto").columns[1].unit == "s"


def test_programs_get_the_figure_in_the_unit_of_its_heading() -> None:
    changed = in_unit(table((0.25, math.inf)), "ms")
    assert changed.column("time")[0].fields() == {"": 250.0}
    assert changed.column("goal")[0].fields() == {"": "inf", "reached": 2, "runs": 2}


def test_units_are_parsed_and_others_refused() -> None:
    assert [parse_time_unit(unit) for unit in TIME_UNITS] == ["auto", "s", "ms", "us"]
    with pytest.raises(ColumnError, match="bad time unit 'min': expected one of auto, s, ms, us"):
        parse_time_unit("min")
