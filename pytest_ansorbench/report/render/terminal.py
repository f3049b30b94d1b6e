"""A report for a terminal: columns of plain text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_ansorbench.report.render.blocks import indented, sentence_text, table_text
from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import Block, Chart, Lines, Report, Sentence, Table, Tone


def unpainted(line: str, tone: Tone) -> str:
    """A line as it is, in any tone."""
    return line


@dataclass(frozen=True, slots=True)
class Terminal:
    """Renders for a terminal; sections are set off by blank lines.

    Attributes:
        paint: Colours a line that is done, by the tone of its sentence.
    """

    paint: Callable[[str, Tone], str] = unpainted

    def render(self, report: Report) -> str:
        """Write a report; see `Renderer`."""
        return "\n\n".join(
            "\n".join(map(self._block, section.blocks)) for section in report.sections
        )

    def line(self, sentence: Sentence) -> str:
        """Write one sentence that stands alone, as a message."""
        return sentence_text(sentence, printable)

    def _block(self, block: Block) -> str:
        match block:
            case Lines(sentences, depth, tone):
                return "\n".join(
                    self.paint(indented(sentence_text(sentence, printable), depth), tone)
                    for sentence in sentences
                )
            case Table():
                return table_text(block, "simple", printable)
            case Chart():
                return "\n".join(map(self._block, chart_blocks(block)))
