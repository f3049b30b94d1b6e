"""Charts for formats that cannot draw: curves are read off at four places, the rest tabulated."""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from typing import Final

from pytest_ansorbench.report.cells import Cell, Figure, Gap, Ratio, Text
from pytest_ansorbench.report.render.blocks import sentence_text, written
from pytest_ansorbench.report.sections import (
    Axis,
    Bars,
    Block,
    Chart,
    Column,
    Forest,
    Group,
    Lines,
    Sentence,
    Series,
    Table,
)

_PLACES: Final = (0.25, 0.5, 0.75, 1.0)
"""Shares of the longest curve."""


def chart_blocks(chart: Chart | Forest | Bars) -> tuple[Block, ...]:
    """Tabulate a chart.

    Args:
        chart: The chart.

    Returns:
        Of curves their heading and what they are held against, then a table with a column for
        each, a gap where one has ended; of bars and ratios a table with a row for each.
    """
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
        Group(tuple((_label(row.label), Ratio(row.estimate)) for row in rows), role)
        for role, rows in groupby(forest.rows, key=lambda row: row.role)
    )
    return Table(columns, tuple(groups))


def _bars(bars: Bars) -> Table:
    heading, unit = bars.length.heading, bars.length.unit
    columns = (
        Column("label", heading, kind="words"),
        *(Column(name, name, unit) for name in (_label(part).text for part in bars.parts)),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (_label(stack.label), *(Figure(heading, length) for length in stack.lengths))
        for stack in bars.stacks
    )
    return Table(columns, (Group(rows),))


def _label(sentence: Sentence) -> Text:
    """Words of a chart as a cell, which a renderer makes harmless."""
    return Text(sentence_text(sentence, written(str)))


def _curves(chart: Chart) -> tuple[Block, ...]:
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
    held_against = tuple(
        (Text(level.label), ": ", Figure(chart.y.heading, level.y)) for level in chart.levels
    )
    return Lines(((Text(chart.y.heading),), *held_against)), Table(columns, (Group(rows),))


def _value(axis: Axis, series: Series, x: float) -> Cell:
    """A curve's value at one place."""
    at = bisect_right(series.x, x)
    if not at or x > series.x[-1]:
        return Gap.IRRELEVANT
    return Figure(axis.heading, series.y[at - 1])
