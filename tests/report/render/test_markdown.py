"""Reports in Markdown."""

from __future__ import annotations

import itertools
import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pytest_ansorbench.report.cells import Text
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import (
    Axis,
    Block,
    Chart,
    Column,
    Lines,
    Section,
    Series,
    Table,
)
from tests.report.render.contract import hostile
from tests.report.render.test_terminal import TABLE
from tests.report.rendered import rendered


def test_a_table_has_alignments_and_no_line_above_a_summary() -> None:
    assert rendered(TABLE, "markdown") == (
        "| case   |   trials |\n"
        "|:-------|---------:|\n"
        "| a      |        8 |\n"
        "| b      |       16 |\n"
        "| all    |      n/a |"
    )


def test_a_table_among_indented_lines_is_one_all_the_same() -> None:
    table = Table(TABLE.columns, TABLE.groups, depth=2)
    section = Section("details", (Lines(("x",), depth=2), table, Lines(("y",), depth=2)))
    assert rendered(section, "markdown") == f"x\n\n{rendered(TABLE, 'markdown')}\n\ny"
    assert {"table_open", "paragraph_open"} == {
        token.type for token in tokens(section) if token.level == 0 and token.nesting == 1
    }


def test_sentences_hold_no_tag() -> None:
    sentence = "S <= 0.3 of <b>S</b> <= 0.3"
    assert rendered(Lines((sentence,)), "markdown") == "S <= 0.3 of &lt;b>S&lt;/b> <= 0.3"


def tokens(block: Section | Block) -> list[Token]:
    """What a reader of Markdown makes of it."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return reader.parse(rendered(block, "markdown"))


@hostile
def test_no_text_is_a_mark(text: str) -> None:
    for sentence in (f"after {text} before", f"{text} before"):
        table = Table.of((Column("case", sentence),), [(Text(sentence),)])
        for block in (Lines((sentence,)), table):
            told = [token.children for token in tokens(block) if token.children]
            assert {part.type for parts in told for part in parts} == {"text"}
            words = {"".join(part.content for part in parts) for parts in told}
            assert not any(re.search(r"@\w", one) for one in words)
            # A table's cells are padded, and runs of spaces are one.
            shown = {" ".join(one.replace("\u200b", "").split()) for one in words}
            assert shown == {" ".join(printable(sentence).split())}


@pytest.mark.parametrize(
    "begin",
    [*(">", ">=", "#", "+", "-", "=", ":-", "1.", "12)"), "---", "===", "[a]: b", "    code"],
)
def test_no_line_begins_anything_but_a_paragraph(begin: str) -> None:
    found = tokens(Lines((f"{begin} x", begin, "next")))
    assert [token.type for token in found] == ["paragraph_open", "inline", "paragraph_close"]
    told = "".join(part.content or "\n" for part in found[1].children or ())
    assert told == "\n".join((f"{begin.strip()} x", begin.strip(), "next"))


def test_the_table_of_a_chart_is_set_off_by_a_blank_line() -> None:
    chart = Chart(Axis("trials"), Axis("best"), (Series("fast", (1,), (1,)),))
    assert rendered(chart, "markdown").split("\n")[:3] == ["best", "", "|   trials |   fast |"]


def test_what_follows_a_table_is_no_part_of_it() -> None:
    chart = Chart(Axis("trials"), Axis("best"), (Series("fast", (1,), (1,)),))
    blocks = (Lines(("before",)), TABLE, chart, chart, Lines(("after",)), Lines(("more",)))
    lines = rendered(Section("details", blocks), "markdown").split("\n")
    for above, below in itertools.pairwise(lines):
        assert not (above.startswith("|") and below) or below.startswith("|")
    assert lines[-2:] == ["after", "more"]
