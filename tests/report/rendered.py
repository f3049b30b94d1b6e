"""Reports as text, and tables in that text taken apart into cells again."""

from __future__ import annotations

import re

from pytest_ansorbench.report.render.formats import RENDERERS
from pytest_ansorbench.report.sections import Block, Report, Section


def rendered(part: Section | Block, renderer: str = "terminal") -> str:
    """A part of a report as text."""
    section = part if isinstance(part, Section) else Section("part", (part,))
    return RENDERERS[renderer].render(Report.of(section))


def lines_of(*parts: Section | Block) -> list[str]:
    """Parts of a report for a terminal, line by line; nothing for what is empty."""
    return [line for part in parts if (text := rendered(part)) for line in text.split("\n")]


def simple_cells(text: str) -> list[list[str]]:
    """Cells of a `simple` table: headings, then rows; lines of dashes are left out."""
    lines = text.split("\n")
    spans = [match.span() for match in re.finditer("-+", lines[1])]
    rows = [line for line in lines if set(line) - set("- ")]
    return [[row[start:end].strip() for start, end in spans] for row in rows]


def markdown_cells(text: str) -> list[list[str]]:
    """Cells of a Markdown table: headings, then rows; the line of alignments is left out."""
    heading, _, *rows = text.split("\n")
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in (heading, *rows)
    ]


def latex_cells(text: str) -> list[list[str]]:
    """Cells of a LaTeX table: headings, then rows; rules are left out."""
    rows = [line for line in text.split("\n") if line.endswith("\\\\")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", row[:-2])] for row in rows]


def column(cells: list[list[str]], heading: str) -> list[str]:
    """All cells below a heading."""
    index = cells[0].index(heading)
    return [row[index] for row in cells[1:]]
