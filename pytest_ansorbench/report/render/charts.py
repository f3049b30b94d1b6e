"""Charts for formats that cannot draw: their curves, read off at four places."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from pytest_ansorbench.report.cells import Cell, Figure, Gap, Text
from pytest_ansorbench.report.sections import (
    Axis,
    Block,
    Chart,
    Column,
    Group,
    Lines,
    Series,
    Table,
)

_PLACES: Final = (0.25, 0.5, 0.75, 1.0)
"""Shares of the longest curve."""


def chart_blocks(chart: Chart) -> tuple[Block, ...]:
    """Tabulate a chart.

    Args:
        chart: The chart.

    Returns:
        The heading of its curves; then a table with a column for each, a gap where one has ended.
    """
    end = max((series.x[-1] for series in chart.series if series.x), default=0.0)
    columns = (
        Column("x", chart.x.heading, chart.x.unit),
        *(Column(series.label, series.label, chart.y.unit) for series in chart.series),
    )
    rows = tuple(
        (
            Figure(chart.x.heading, place * end),
            *(_value(chart.y, series, place * end) for series in chart.series),
        )
        for place in _PLACES
    )
    return Lines(((Text(chart.y.heading),),)), Table(columns, (Group(rows),))


def _value(axis: Axis, series: Series, x: float) -> Cell:
    """A curve's value at one place."""
    at = bisect_right(series.x, x)
    if not at or x > series.x[-1]:
        return Gap.IRRELEVANT
    return Figure(axis.heading, series.y[at - 1])
