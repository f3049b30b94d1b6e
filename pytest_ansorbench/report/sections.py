"""The parts of a report: sections of sentences, tables and charts, with cells in them.

All of it is data. A renderer (`render`) decides how it looks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

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
    """

    key: str
    heading: str
    unit: str = ""
    kind: Literal["words", "figures"] = "figures"


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
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over one axis.

    Attributes:
        x: The axis they run along.
        y: The axis of their values.
        series: The curves, at least one.
    """

    x: Axis
    y: Axis
    series: tuple[Series, ...]


Block = Lines | Table | Chart


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
