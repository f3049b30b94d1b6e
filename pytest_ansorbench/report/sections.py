"""The parts of a report: sections of sentences, tables, charts and code, with cells in them.

All of it is data. A renderer (`render`) decides how it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import Cell

Sentence = tuple[str | Cell, ...]
"""Words and cells in order, with units and spaces in the words.

A `str` is our own words, harmless to a terminal; text from a file is always a `Text`.
"""


def listed(cells: Iterable[Cell]) -> Sentence:
    """Cells with commas between them, to be put into a sentence."""
    parts: list[str | Cell] = []
    for cell in cells:
        parts += [", ", cell] if parts else [cell]
    return tuple(parts)


Tone = Literal["plain", "warning"]


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences, each on a line of its own.

    Attributes:
        sentences: The sentences.
        depth: Levels of indentation.
        tone: How urgent they are.
    """

    sentences: tuple[Sentence, ...]
    depth: int = 0
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: Its name for programs.
        heading: Its name for readers; the unit alone where that says it all, e.g. `GFLOP/s`.
        unit: Unit of its figures, that of its cells; empty for words, counts and ratios.
        kind: `words` go left, `figures` right.
        spare: Where there is no room for all, the column with the largest is left out first; 0
            for one that stays.
    """

    key: str
    heading: str
    unit: str = ""
    kind: Literal["words", "figures"] = "figures"
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a table that belong together.

    Attributes:
        rows: The rows, one cell a column.
        role: `summary` for rows that sum up those before them.
    """

    rows: tuple[tuple[Cell, ...], ...]
    role: Literal["body", "summary"] = "body"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings.

    Attributes:
        columns: The columns.
        groups: The rows, a summary after what it sums up.
        depth: Levels of indentation.
    """

    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    depth: int = 0

    def __post_init__(self) -> None:
        """Refuse rows that do not fit under the headings.

        Raises:
            ValueError: A row has more or fewer cells than there are columns.
        """
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"bad row of {len(row)} cells: expected one for each of the "
                    f"{len(self.columns)} columns"
                )

    @property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows of all groups."""
        return tuple(row for group in self.groups for row in group.rows)

    def column(self, key: str) -> tuple[Cell, ...]:
        """The cells of one column, from all rows.

        Raises:
            ValueError: There is no such column.
        """
        index = [column.key for column in self.columns].index(key)
        return tuple(row[index] for row in self.rows)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart.

    Attributes:
        heading: The quantity along it.
        unit: Its unit; empty if the heading says it.
    """

    heading: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve of a chart: a step function, constant from each point to the next.

    Attributes:
        label: Name of the curve, e.g. a strategy.
        x: Places along the axis, ascending.
        y: The value at each place.
        low: Where the middle half of what the curve sums up begins at each place; none if it sums
            up nothing.
        high: Where it ends.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A value that curves are held against.

    Attributes:
        label: What it is, e.g. `target`.
        y: The value.
    """

    label: str
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over one axis.

    Attributes:
        x: The axis they run along.
        y: The axis of their values.
        series: The curves, at least one.
        runs: What the curves sum up, by the same labels, for formats that can draw it faintly.
        levels: What the curves are held against.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    runs: tuple[Series, ...] = ()
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """One row of a forest plot.

    Attributes:
        label: What was compared, e.g. a case and a strategy.
        estimate: The ratio with its interval.
        role: `summary` for what sums up the rows before it.
    """

    label: Sentence
    estimate: Estimate
    role: Literal["body", "summary"] = "body"


@dataclass(frozen=True, slots=True)
class Forest:
    """Ratios with their intervals, one below the other: a forest plot.

    Attributes:
        ratio: The axis of the ratios; 1 is where both sides are equal.
        rows: The ratios.
        limit: What they are held against; None for nothing.
    """

    ratio: Axis
    rows: tuple[Interval, ...]
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar of a chart of stacked bars.

    Attributes:
        label: What it adds up, e.g. a strategy.
        lengths: One for each part, 0 or more.
    """

    label: Sentence
    lengths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Stacked bars.

    Attributes:
        length: The axis along the bars.
        parts: What each bar is made of, in order.
        stacks: The bars.
    """

    length: Axis
    parts: tuple[Sentence, ...]
    stacks: tuple[Stack, ...]

    def __post_init__(self) -> None:
        """Refuse bars of other parts.

        Raises:
            ValueError: A bar has more or fewer lengths than there are parts.
        """
        for stack in self.stacks:
            if len(stack.lengths) != len(self.parts):
                raise ValueError(
                    f"bad bar {stack.label!r} of {len(stack.lengths)} lengths: expected one for "
                    f"each of the {len(self.parts)} parts"
                )


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy, e.g. a schedule or a command, that keeps its lines.

    Attributes:
        title: What it is.
        text: The text; it may come from a file.
        language: `python`, `sh`, or empty.
    """

    title: str
    text: str
    language: str = ""


Block = Lines | Table | Chart | Forest | Bars | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report that stands by itself.

    Attributes:
        key: Its name for programs.
        blocks: Its contents, in order.
        subject: Id of the case that it is about; empty if it is about all.
    """

    key: str
    blocks: tuple[Block, ...]
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Sections in order, as `of` puts them together."""

    sections: tuple[Section, ...]

    @classmethod
    def of(cls, *sections: Section) -> Report:
        """Put sections together, without blocks and sections that have nothing in them."""
        filled = (
            replace(section, blocks=tuple(filter(_has_content, section.blocks)))
            for section in sections
        )
        return cls(tuple(section for section in filled if section.blocks))


def _has_content(block: Block) -> bool:
    match block:
        case Lines():
            return bool(block.sentences)
        case Table():
            return bool(block.rows)
        case Chart():
            return bool(block.series)
        case Forest():
            return bool(block.rows)
        case Bars():
            return bool(block.stacks)
        case Code():
            return bool(block.text)
