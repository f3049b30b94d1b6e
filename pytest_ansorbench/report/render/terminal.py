"""A report for a terminal: columns of plain text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from pytest_ansorbench.records import Outcome
from pytest_ansorbench.report.cells import Cell, GateMark
from pytest_ansorbench.report.render.charts import chart_blocks
from pytest_ansorbench.report.render.text import (
    INDENT,
    code_lines,
    column_title,
    indented,
    named_sections,
    printable,
    table_text,
)
from pytest_ansorbench.report.sections import Block, Code, Lines, Report, Sentence, Table, Tone

_NARROWEST: Final = 12
"""Characters that a folded column keeps at least."""
_HELD: Final = "\ue000"
"""Stands for a character of an outcome until lines are folded and columns are as wide as they get;
text from a file cannot have it, as it is not printable."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Renders for a terminal; sections are set off by blank lines."""

    # Colours a line that is done, by the tone of its sentence.
    paint: Callable[[str, Tone], str] = lambda line, tone: line
    mark: Callable[[Outcome], str] = lambda outcome: outcome  # colours the word of an outcome
    # Characters in a line, which sentences and tables are fitted into; None for any number.
    width: int | None = None

    def render(self, report: Report) -> str:
        return "\n\n".join(self._set(section.blocks) for section in named_sections(report))

    def line(self, sentence: Sentence) -> str:
        """Write one sentence that stands alone, as a message."""
        return printable(str(sentence))

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
            case Code(title, text):
                return "\n".join((f"{printable(title)}:", *code_lines(text, 1)))
            case _:
                return self._set(chart_blocks(block))

    def _sentence(self, sentence: Sentence, depth: int) -> list[str]:
        if isinstance(sentence, str):
            return self._folded(printable(sentence), depth)
        words = printable(sentence.before) + _held(sentence.outcome) + printable(sentence.after)
        text = "\n".join(self._folded(words, depth))
        return self._marked(text, [sentence.outcome]).split("\n")

    def _marked(self, text: str, outcomes: Iterable[Outcome]) -> str:
        """Put outcomes where they were held, coloured."""
        rest = iter(outcomes)
        return re.sub(f"{_HELD}+", lambda _: self.mark(next(rest)), text)

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
            return self._marked(text, _outcomes(table))
        left_out: list[str] = []
        while _width(text) > self.width and any(column.spare for column in table.columns):
            at = max(range(len(table.columns)), key=lambda place: table.columns[place].spare)
            left_out.append(column_title(table.columns[at]))
            table = _without(table, at)
            text = table_text(table, "simple", _written)
        if _width(text) > self.width:
            text = table_text(table, "simple", _written, _narrow(table, _width(text) - self.width))
        text = self._marked(text, _outcomes(table))
        if left_out:
            words = f"left out for want of room: {', '.join(map(printable, left_out))}"
            text = "\n".join((text, *self._folded(words, table.depth)))
        return text


def _written(cell: Cell) -> str:
    return _held(cell.outcome) if isinstance(cell, GateMark) else printable(str(cell))


def _held(outcome: Outcome) -> str:
    return _HELD * len(outcome)


def _outcomes(table: Table) -> Iterable[Outcome]:
    return (cell.outcome for row in table.rows for cell in row if isinstance(cell, GateMark))


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
        max((len(str(row[place])) for row in table.rows), default=0)
        if column.kind == "words"
        else 0
        for place, column in enumerate(table.columns)
    ]
    widest = max(range(len(widths)), key=widths.__getitem__)
    narrow = max(_NARROWEST, widths[widest] - excess)
    return [narrow if place == widest else None for place in range(len(widths))]
