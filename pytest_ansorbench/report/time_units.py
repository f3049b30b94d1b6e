"""The unit that the times of a table are told in."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal, get_args

from pytest_ansorbench.report.cells import PER_SECOND, Cell, Seconds, TimeToTarget, TimeUnit
from pytest_ansorbench.report.columns import one_of
from pytest_ansorbench.report.sections import Group, Table

WantedUnit = Literal["auto", "s", "ms", "us"]

TIME_UNITS: Final[tuple[WantedUnit, ...]] = get_args(WantedUnit)


def parse_time_unit(text: str) -> WantedUnit:
    """Parse a unit of time.

    Raises:
        ColumnError: There is no such unit.
    """
    return one_of(TIME_UNITS, text, "time unit")


def in_unit(table: Table, wanted: WantedUnit) -> Table:
    """A table with all its times in one unit.

    Args:
        table: The table, its times in seconds.
        wanted: The unit; `auto` for the largest in which the longest time is at least 1.
    """
    unit = _suitable(table) if wanted == "auto" else wanted
    if unit == Seconds.UNIT:
        return table
    columns = (
        replace(column, unit=unit) if column.unit == Seconds.UNIT else column
        for column in table.columns
    )
    groups = (
        Group(tuple(tuple(_in_unit(cell, unit) for cell in row) for row in group.rows), group.role)
        for group in table.groups
    )
    return Table(tuple(columns), tuple(groups), table.depth)


def _in_unit(cell: Cell, unit: TimeUnit) -> Cell:
    return replace(cell, unit=unit) if isinstance(cell, Seconds | TimeToTarget) else cell


def _suitable(table: Table) -> TimeUnit:
    longest_s = max(_times_s(table), default=1.0)
    for unit, per_second in PER_SECOND.items():
        if longest_s * per_second >= 1.0:
            return unit
    return Seconds.UNIT


def _times_s(table: Table) -> Iterator[float]:
    for row in table.rows:
        for cell in row:
            if isinstance(cell, Seconds | TimeToTarget) and math.isfinite(cell.seconds):
                yield cell.seconds
