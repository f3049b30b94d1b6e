"""A report in Markdown, to be pasted into a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.text import (
    code_lines,
    markdown_line,
    markdown_words,
    named_sections,
    table_text,
    written,
)
from pytest_ansorbench.report.sections import Block, Code, Lines, Report, Table


@dataclass(frozen=True, slots=True)
class Markdown:
    """Renders tables as GitHub reads them, and sentences as plain lines.

    Nothing is indented: no table can be, and lines after one would be code.
    """

    def render(self, report: Report) -> str:
        return "\n\n".join(self._section(section.blocks) for section in named_sections(report))

    def _section(self, blocks: Sequence[Block]) -> str:
        """Blocks that are not text alone have a blank line on both sides.

        Without it a table would go on with the words below it.
        """
        text = ""
        for before, block in zip((None, *blocks), blocks, strict=False):
            if before is not None:
                both = isinstance(before, Lines) and isinstance(block, Lines)
                text += "\n" if both else "\n\n"
            text += self._block(block)
        return text

    def _block(self, block: Block) -> str:
        match block:
            case Lines(sentences):
                return "\n".join(markdown_line(str(one)) for one in sentences)
            case Table():
                return table_text(replace(block, depth=0), "pipe", written(markdown_words))
            case Code(title, text, language):
                lines = code_lines(text, 0)
                fence = "`" * max(3, 1 + max(map(_ticks, lines), default=0))
                return "\n".join((markdown_line(title), "", fence + language, *lines, fence))
            case _:
                # A blank line, without which the table would go on with the words above it.
                return "\n\n".join(map(self._block, chart_blocks(block)))


def _ticks(line: str) -> int:
    """The longest row of backticks, which a fence has to be longer than."""
    return max(map(len, re.findall("`+", line)), default=0)
