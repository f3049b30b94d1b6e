"""A report for a terminal: columns of plain text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from pytest_ansorbench.records import Outcome
from pytest_ansorbench.report.cells import Cell, GateMark
from pytest_ansorbench.report.render.blocks import (
    INDENT,
    code_lines,
    column_title,
    indented,
    sentence_text,
    table_text,
    written,
)
from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.numbers import cell_text
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import (
    Bars,
    Block,
    Chart,
    Code,
    Forest,
    Lines,
    Report,
    Sentence,
    Table,
    Tone,
)

_NARROWEST: Final = 12
"""Characters that a folded column keeps at least."""


_HELD: Final = "\ue000"
"""Stands for a character of an outcome until lines are folded and columns are as wide as they get;
text from a file cannot have it, as it is not printable."""


def unpainted(line: str, tone: Tone) -> str:
    """A line as it is, in any tone."""
    return line


def unmarked(outcome: Outcome) -> str:
    """An outcome as it is."""
    return outcome


@dataclass(frozen=True, slots=True)
class Terminal:
    """Renders for a terminal; sections are set off by blank lines.

    Attributes:
        paint: Colours a line that is done, by the tone of its sentence.
        mark: Colours the word of an outcome.
        width: Characters in a line, which sentences and tables are fitted into; None for as many
            as it takes.
    """

    paint: Callable[[str, Tone], str] = unpainted
    mark: Callable[[Outcome], str] = unmarked
    width: int | None = None

    def render(self, report: Report) -> str:
        """Write a report; see `Renderer`."""
        return "\n\n".join(self._set(section.blocks) for section in report.sections)

    def line(self, sentence: Sentence) -> str:
        """Write one sentence that stands alone, as a message."""
        return sentence_text(sentence, written(printable))

    def _set(self, blocks: Iterable[Block]) -> str:
        """Blocks one below the other: a blank line after a table, none after its heading."""
        text, gap = "", ""
        for block in blocks:
            text += gap + self._block(block)
            gap = "\n" if isinstance(block, Lines) else "\n\n"
        return text

    def _block(self, block: Block) -> str:
        match block:
            case Lines(sentences, depth, tone):
                return "\n".join(
                    self.paint(line, tone)
                    for sentence in sentences
                    for line in self._sentence(sentence, depth)
                )
            case Table():
                return self._fitted(block)
            case Chart() | Forest() | Bars():
                return self._set(chart_blocks(block))
            case Code(title, text):
                return "\n".join((f"{printable(title)}:", *code_lines(text, 1)))

    def _sentence(self, sentence: Sentence, depth: int) -> list[str]:
        text = "\n".join(self._folded(sentence_text(sentence, _written), depth))
        return self._marked(text, sentence).split("\n")

    def _marked(self, text: str, cells: Iterable[str | Cell]) -> str:
        """Put outcomes where they were held, coloured."""
        outcomes = (cell.outcome for cell in cells if isinstance(cell, GateMark))
        return re.sub(f"{_HELD}+", lambda _: self.mark(next(outcomes)), text)

    def _folded(self, text: str, depth: int) -> list[str]:
        """A sentence in lines; those after the first are indented."""
        if self.width is None:
            return [indented(text, depth)]
        lines = textwrap.wrap(
            text,
            self.width,
            initial_indent=INDENT * depth,
            subsequent_indent=INDENT * (depth + 1),
            break_long_words=False,
            break_on_hyphens=False,
        )
        return lines or [""]

    def _fitted(self, table: Table) -> str:
        """A table as wide as there is room for: spare columns go first, then words are folded."""
        text = table_text(table, "simple", _written)
        if self.width is None:
            return self._marked(text, chain(*table.rows))
        left_out: list[str] = []
        while _width(text) > self.width and any(column.spare for column in table.columns):
            at = max(range(len(table.columns)), key=lambda place: table.columns[place].spare)
            left_out.append(column_title(table.columns[at]))
            table = _without(table, at)
            text = table_text(table, "simple", _written)
        if _width(text) > self.width:
            text = table_text(table, "simple", _written, _narrow(table, _width(text) - self.width))
        text = self._marked(text, chain(*table.rows))
        if left_out:
            words = f"left out for want of room: {', '.join(map(printable, left_out))}"
            text = "\n".join((text, *self._folded(words, table.depth)))
        return text


def _written(cell: Cell) -> str:
    """A cell as text, an outcome held."""
    text = printable(cell_text(cell))
    return _HELD * len(text) if isinstance(cell, GateMark) else text


def _width(text: str) -> int:
    return max(map(len, text.split("\n")))


def _without(table: Table, at: int) -> Table:
    """A table without one of its columns."""
    return replace(
        table,
        columns=(*table.columns[:at], *table.columns[at + 1 :]),
        groups=tuple(
            replace(group, rows=tuple((*row[:at], *row[at + 1 :]) for row in group.rows))
            for group in table.groups
        ),
    )


def _narrow(table: Table, excess: int) -> list[int | None]:
    """Widths that fold the widest column of words; None leaves a column as it is."""
    widths = [
        max((len(cell_text(row[place])) for row in table.rows), default=0)
        if column.kind == "words"
        else 0
        for place, column in enumerate(table.columns)
    ]
    widest = max(range(len(widths)), key=widths.__getitem__)
    narrow = max(_NARROWEST, widths[widest] - excess)
    return [narrow if place == widest else None for place in range(len(widths))]
