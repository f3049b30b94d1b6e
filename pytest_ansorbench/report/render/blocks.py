"""Sentences and tables as plain text, for the formats that differ in little else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from tabulate import SEPARATING_LINE, tabulate

from pytest_ansorbench.report.cells import Cell, Text
from pytest_ansorbench.report.render.numbers import cell_text
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import Column, Sentence, Table

Write = Callable[[Cell], str]
"""Writes a cell as a format does, with text from a file made harmless."""

INDENT: Final = "  "


def written(escape: Callable[[str], str]) -> Write:
    """Write cells as text that is escaped."""
    return lambda cell: escape(cell_text(cell))


def sentence_text(sentence: Sentence, write: Write) -> str:
    """Write a sentence on one line.

    Args:
        sentence: The sentence.
        write: Writes its cells; the words between them are ours.
    """
    return "".join(part if isinstance(part, str) else write(part) for part in sentence)


def table_text(
    table: Table,
    style: Literal["simple", "pipe"],
    write: Write,
    widths: Sequence[int | None] | None = None,
) -> str:
    """Write a table, with its indentation.

    Args:
        table: The table.
        style: `simple` draws lines of dashes, one above a summary too; `pipe` is Markdown with
            alignments, which tabulate's `github` leaves out.
        write: Writes cells and headings.
        widths: Characters that cells of a column are folded to, None for those of one that is
            not; None if no column is.
    """
    lines: list[list[str] | str] = []
    before = None
    for group in table.groups:
        if style == "simple" and (group.role == "summary" or before == "summary"):
            lines.append(SEPARATING_LINE)
        before = group.role
        lines += [list(map(write, row)) for row in group.rows]
    text: str = tabulate(
        lines,
        headers=[write(Text(column_title(column))) for column in table.columns],
        tablefmt=style,
        colalign=["left" if column.kind == "words" else "right" for column in table.columns],
        disable_numparse=True,
        maxcolwidths=None if widths is None else list(widths),
    )
    return indented(text, table.depth)


def code_lines(text: str, depth: int) -> list[str]:
    """The lines of code, harmless and with their own indentation."""
    return [indented(printable(line), depth) for line in text.splitlines()]


def indented(text: str, depth: int) -> str:
    """Every line of a text, moved to the right by some levels."""
    return "\n".join(INDENT * depth + line for line in text.split("\n"))


def column_title(column: Column) -> str:
    """A heading with its unit, unless that says it all."""
    if column.unit in ("", column.heading):
        return column.heading
    return f"{column.heading} ({column.unit})"
