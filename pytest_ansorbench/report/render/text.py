"""Sentences, tables and code as plain text, for the formats that differ in little else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal

from tabulate import SEPARATING_LINE, tabulate

from pytest_ansorbench.report.cells import Cell, Text
from pytest_ansorbench.report.sections import Column, Lines, Report, Section, Table

INDENT: Final = "  "
_MARKS: Final = re.compile(r"[\\`*$~|]|\](?=\()|\[(?=\^)|(?<![^\W_])_|_(?![^\W_])")
"""Marks of Markdown: of code, emphasis, formulas, columns, links, footnotes."""
_HTML: Final = ((r"&(?=#?\w+;)", "&amp;"), (r"<(?=[A-Za-z/!?])", "&lt;"), (r"@(?=\w)", "@&#8203;"))
"""What begins an entity, a tag and, for GitHub, the name of somebody to be told."""

_BEGINS: Final = re.compile(r"^(?:\d{1,9}(?=[.)](?:\s|$))|(?=[>#+=:-]|\[[^]]*\]:))")
"""How a line of Markdown begins that is a quotation, a heading, a list, a rule or a link's target;
what makes it one comes next."""


def printable(text: str) -> str:
    """One line without control characters: ids come from files, and a terminal obeys them."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def markdown_words(text: str) -> str:
    """Words in Markdown, in which nothing is a mark, a tag or a mention."""
    text = _MARKS.sub(r"\\\g<0>", printable(text))
    for begins, instead in _HTML:
        text = re.sub(begins, instead, text)
    return text


def markdown_line(text: str) -> str:
    """Words in Markdown at the start of a line, of which they make nothing else."""
    return _BEGINS.sub(r"\g<0>\\", markdown_words(text).lstrip())


def named_sections(report: Report) -> Iterator[Section]:
    """The sections of a report; where the case that they are of changes, its id comes first."""
    before = ""
    for section in report.sections:
        if section.subject not in ("", before):
            yield replace(section, blocks=(Lines((section.subject,)), *section.blocks))
        else:
            yield section
        before = section.subject


def written(escape: Callable[[str], str]) -> Callable[[Cell], str]:
    """Writes cells as text that is escaped."""
    return lambda cell: escape(str(cell))


def table_text(
    table: Table,
    style: Literal["simple", "pipe", "latex_raw"],
    write: Callable[[Cell], str],
    widths: Sequence[int | None] | None = None,
) -> str:
    """Write a table, with its indentation.

    `simple` draws lines of dashes, one above a summary too; `pipe` is Markdown with alignments,
    which tabulate's `github` leaves out. `widths` are characters that cells of a column are folded
    to, None for those of one that is not.
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
