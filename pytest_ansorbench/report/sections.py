"""The parts of a report: sections of sentences, tables, charts and code.

All of it is data. A renderer (`render`) decides how it looks, and escapes what it writes: any text
may come from a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_ansorbench.records import Estimate, Outcome
from pytest_ansorbench.report.cells import Cell


@dataclass(frozen=True, slots=True)
class GateSentence:
    """A sentence on a gate, apart from the outcome in it, which formats may colour."""

    before: str
    outcome: Outcome
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.outcome}{self.after}"


Sentence = str | GateSentence

Tone = Literal["plain", "warning"]
"""A warning may be coloured; that it is one its sentence says itself."""
Role = Literal["body", "summary"]
"""A summary sums up what stands before it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences, each on a line of its own, indented by `depth` levels."""

    sentences: tuple[Sentence, ...]
    depth: int = 0
    tone: Tone = "plain"

    @classmethod
    def of(cls, sentences: Iterable[Sentence], depth: int = 0, tone: Tone = "plain") -> Lines:
        return cls(tuple(sentences), depth, tone)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    key: str  # its name for programs
    heading: str  # its name for readers; the unit alone where that says it all, e.g. `GFLOP/s`
    unit: str = ""  # unit of its figures; empty for words, counts and ratios
    kind: Literal["words", "figures"] = "figures"  # words go left, figures right
    # Where there is no room for all, the column with the largest is left out first; 0 stays.
    spare: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a table that belong together, one cell a column."""

    rows: tuple[tuple[Cell, ...], ...]
    role: Role = "body"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings, a summary after what it sums up, indented by `depth` levels."""

    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    depth: int = 0

    @classmethod
    def of(cls, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], depth: int = 0) -> Table:
        """Rows that all belong together."""
        return cls(tuple(columns), (Group(tuple(map(tuple, rows))),), depth)

    def __post_init__(self) -> None:
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
        """The cells of one column, from all rows."""
        index = [column.key for column in self.columns].index(key)
        return tuple(row[index] for row in self.rows)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a chart; the unit is empty if the heading says it."""

    heading: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve of a chart: a step function, constant from each point to the next."""

    label: str
    x: tuple[float, ...]  # ascending
    y: tuple[float, ...]
    # Ends of the middle half of what the curve sums up; none if it sums up nothing.
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A value that curves are compared with, e.g. `target`."""

    label: str
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over one axis, and values that they are compared with."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    # What the curves sum up, by the same labels, for formats that can draw it faintly.
    runs: tuple[Series, ...] = ()
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """One row of a forest plot: what was compared, and the ratio with its interval."""

    label: str
    estimate: Estimate
    role: Role = "body"


@dataclass(frozen=True, slots=True)
class Forest:
    """Ratios with their intervals, one below the other: a forest plot."""

    ratio: Axis  # 1 is where both sides are equal
    rows: tuple[Interval, ...]
    limit: float | None = None

    @classmethod
    def of(cls, ratio: Axis, rows: Iterable[Interval], limit: float | None = None) -> Forest:
        """Ratios, but for those that had nothing to compare."""
        return cls(ratio, tuple(x for x in rows if x.estimate.bound != "undefined"), limit)


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar of stacked bars, with a length, 0 or more, for each part."""

    label: str
    lengths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Stacked bars of the same parts."""

    length: Axis  # along the bars
    parts: tuple[str, ...]
    stacks: tuple[Stack, ...]

    def __post_init__(self) -> None:
        for stack in self.stacks:
            if len(stack.lengths) != len(self.parts):
                raise ValueError(
                    f"bad bar {stack.label!r} of {len(stack.lengths)} lengths: expected one for "
                    f"each of the {len(self.parts)} parts"
                )


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy, e.g. a schedule or a command, that keeps its lines."""

    title: str
    text: str
    language: Literal["python", "sh", ""] = ""


Drawing = Chart | Forest | Bars
Block = Lines | Table | Code | Drawing


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report that stands by itself."""

    key: str  # its name for programs
    blocks: tuple[Block, ...]
    subject: str = ""  # id of the case that it is about; empty if it is about all


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
