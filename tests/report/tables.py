"""Tables taken apart into cells again, so that tests do not depend on their spacing."""

from __future__ import annotations

import re


def simple_cells(text: str) -> list[list[str]]:
    """Cells of a `simple` table: headings, then rows; lines of dashes are left out."""
    lines = text.splitlines()
    spans = [match.span() for match in re.finditer("-+", lines[1])]
    rows = [line for line in lines if set(line) - set("- ")]
    return [[row[start:end].strip() for start, end in spans] for row in rows]


def markdown_cells(text: str) -> list[list[str]]:
    """Cells of a Markdown table, its line of alignments included."""
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.splitlines()
    ]


def column(cells: list[list[str]], heading: str) -> list[str]:
    """All cells below a heading."""
    index = cells[0].index(heading)
    return [row[index] for row in cells[1:]]
