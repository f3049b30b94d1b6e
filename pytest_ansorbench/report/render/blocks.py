"""Sentences and tables as plain text, for the formats that differ in little else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from tabulate import SEPARATING_LINE, tabulate

from pytest_ansorbench.report.render.numbers import cell_text
from pytest_ansorbench.report.sections import Column, Sentence, Table

Escape = Callable[[str], str]
"""Makes text from a file harmless in a format."""

INDENT: Final = "  "


def sentence_text(sentence: Sentence, escape: Escape) -> str:
    """Write a sentence on one line.

    Args:
        sentence: The sentence.
        escape: Applied to its cells; the words between them are ours.
    """
    return "".join(part if isinstance(part, str) else escape(cell_text(part)) for part in sentence)


def table_text(table: Table, style: Literal["simple", "pipe"], escape: Escape) -> str:
    """Write a table, with its indentation.

    Args:
        table: The table.
        style: `simple` draws lines of dashes, one above a summary too; `pipe` is Markdown with
            alignments, which tabulate's `github` leaves out.
        escape: Applied to cells and headings.
    """
    lines: list[list[str] | str] = []
    for group in table.groups:
        if group.role == "summary" and style == "simple":
            lines.append(SEPARATING_LINE)
        lines += [[escape(cell_text(cell)) for cell in row] for row in group.rows]
    text: str = tabulate(
        lines,
        headers=[escape(_title(column)) for column in table.columns],
        tablefmt=style,
        colalign=["left" if column.kind == "words" else "right" for column in table.columns],
        disable_numparse=True,
    )
    return indented(text, table.depth)


def indented(text: str, depth: int) -> str:
    """Every line of a text, moved to the right by some levels."""
    return "\n".join(INDENT * depth + line for line in text.split("\n"))


def _title(column: Column) -> str:
    if column.unit in ("", column.heading):
        return column.heading
    return f"{column.heading} ({column.unit})"
