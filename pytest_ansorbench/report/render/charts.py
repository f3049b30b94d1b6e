"""Charts for formats that cannot draw: curves are read off at four places, the rest tabulated."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from pytest_ansorbench.report.cells import Cell, Gap, Number, Ratio, Text
from pytest_ansorbench.report.sections import (
    Bars,
    Block,
    Chart,
    Column,
    Drawing,
    Forest,
    Group,
    Lines,
    Series,
    Table,
)

_PLACES: Final = (0.25, 0.5, 0.75, 1.0)
"""Shares of the longest curve."""
_MOST_COLUMNS: Final = 8
"""Of more curves each has a row."""


def chart_blocks(chart: Drawing) -> tuple[Block, ...]:
    """Tabulate a chart: curves a column each, or a row if they are many; bars and ratios a row."""
    match chart:
        case Chart():
            return _curves(chart)
        case Forest():
            return (_ratios(chart),)
        case Bars():
            return (_bars(chart),)


def _ratios(forest: Forest) -> Table:
    columns = (Column("label", "compared", kind="words"), Column("ratio", forest.ratio.heading))
    groups = (
        Group(tuple((Text(row.label), Ratio(row.estimate)) for row in rows), role)
        for role, rows in groupby(forest.rows, key=lambda row: row.role)
    )
    return Table(columns, tuple(groups))


def _bars(bars: Bars) -> Table:
    heading, unit = bars.length.heading, bars.length.unit
    columns = (
        Column("label", heading, kind="words"),
        *(Column(part, part, unit) for part in bars.parts),
    )
    rows: Iterable[tuple[Cell, ...]] = (
        (Text(stack.label), *map(Number.of, stack.lengths)) for stack in bars.stacks
    )
    return Table.of(columns, rows)


def _curves(chart: Chart) -> tuple[Block, ...]:
    end = max((series.x[-1] for series in chart.series if series.x), default=0.0)
    levels = (f"{level.label}: {Number.of(level.y)}" for level in chart.levels)
    table = _many(chart, end) if len(chart.series) > _MOST_COLUMNS else _few(chart, end)
    return Lines((chart.y.heading, *levels)), table


def _few(chart: Chart, end: float) -> Table:
    columns = (
        Column("x", chart.x.heading, chart.x.unit),
        *(Column(series.label, series.label, chart.y.unit) for series in chart.series),
    )
    rows = (
        (Number.of(place * end), *(_value(series, place * end) for series in chart.series))
        for place in _PLACES
    )
    return Table.of(columns, rows)


def _many(chart: Chart, end: float) -> Table:
    unit = f" {chart.x.unit}" if chart.x.unit else ""
    at = {f"at_{place:g}": Number.of(place * end) for place in _PLACES}
    columns = (
        Column("curve", chart.x.heading, kind="words"),
        *(Column(key, f"{x}{unit}", chart.y.unit) for key, x in at.items()),
    )
    rows = (
        (Text(series.label), *(_value(series, place * end) for place in _PLACES))
        for series in chart.series
    )
    return Table.of(columns, rows)


def _value(series: Series, x: float) -> Cell:
    at = bisect_right(series.x, x)
    if not at or x > series.x[-1]:
        # It has ended, or not begun.
        return Gap.IRRELEVANT
    return Number.of(series.y[at - 1])
