"""Reports on a terminal."""

from __future__ import annotations

import re

import pytest

from pytest_ansorbench.report.cells import Count, Gap, GateMark, SuiteRatio, Text
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.sections import (
    Axis,
    Chart,
    Column,
    GateSentence,
    Group,
    Lines,
    Report,
    Section,
    Series,
    Table,
)
from pytest_ansorbench.stats.estimates import UNDEFINED
from tests.report.rendered import rendered, simple_cells

TABLE = Table(
    (Column("case", "case", kind="words"), Column("trials", "trials")),
    (
        Group(((Text("a"), Count(8)), (Text("b"), Count(16)))),
        Group(((Text("all"), SuiteRatio(UNDEFINED, 0, 2)),), "summary"),
    ),
)


def test_words_go_left_and_figures_right_with_a_line_above_a_summary() -> None:
    assert rendered(TABLE) == (
        "case      trials\n"
        "------  --------\n"
        "a              8\n"
        "b             16\n"
        "------  --------\n"
        "all          n/a"
    )


def test_blocks_are_indented_by_two_spaces_a_level() -> None:
    table = Table(TABLE.columns[:1], (Group(((Text("a"),),)),), depth=2)
    section = Section("details", (Lines(("x", "y"), depth=1), table))
    assert rendered(section) == "  x\n  y\n    case\n    ------\n    a"


def test_sections_are_set_off_by_a_blank_line() -> None:
    one, two = (Section(word, (Lines((word,)), Lines((word,)))) for word in ("one", "two"))
    assert Terminal().render(Report.of(one, two)) == "one\none\n\ntwo\ntwo"


def test_the_case_of_sections_comes_first_and_once() -> None:
    words = Lines(("words",))
    parts = [Section(key, (words,), case) for key, case in (("x", "a"), ("y", "a"), ("x", "b"))]
    report = Report.of(Section("all", (words,)), *parts)
    assert Terminal().render(report) == "words\n\na\nwords\n\nwords\n\nb\nwords"


def test_lines_are_painted_whole_by_their_tone() -> None:
    lines = (Lines(("calm",)), Lines(("careful 1",), depth=1, tone="warning"))
    terminal = Terminal(lambda line, tone: f"<{line}>" if tone == "warning" else line)
    assert terminal.render(Report.of(Section("notes", lines))) == "calm\n<  careful 1>"


def test_a_chart_is_read_off_at_four_places() -> None:
    chart = Chart(
        Axis("search time", "s"),
        Axis("best so far", "GFLOP/s"),
        (
            Series("default", (0.0, 30.0, 60.0, 80.0), (0.0, 1.0, 2.0, 3.0)),
            Series("fast", (10.0, 25.0, 50.0), (4.0, 5.0, 6.0)),
        ),
    )
    heading, table = rendered(chart).split("\n", maxsplit=1)
    assert heading == "best so far"
    assert simple_cells(table) == [
        ["search time (s)", "default (GFLOP/s)", "fast (GFLOP/s)"],
        ["20", "0", "4"],
        ["40", "1", "5"],
        ["60", "2", "-"],
        ["80", "3", "-"],
    ]


@pytest.mark.parametrize("gap", list(Gap))
def test_a_table_of_gaps_keeps_its_rows(gap: Gap) -> None:
    table = Table(TABLE.columns, (Group(((Text("a"), gap), (Text("b"), gap))),))
    assert [line[:1] for line in rendered(table).split("\n")] == ["c", "-", "a", "b"]


WIDE = Table(
    (
        Column("case", "case", kind="words"),
        Column("trials", "trials", spare=2),
        Column("time", "search time", "s", spare=1),
        Column("verdict", "verdict", kind="words"),
    ),
    (Group(((Text("conv2d-n1-h224-w224-ci3-co64"), Count(640), Count(12), Text("holds")),)),),
)


def narrow(block: Lines | Table, width: int) -> list[str]:
    return Terminal(width=width).render(Report.of(Section("part", (block,)))).split("\n")


def test_where_there_is_no_room_spare_columns_are_left_out_and_named() -> None:
    assert narrow(WIDE, 80) == rendered(WIDE).split("\n")
    assert narrow(WIDE, 62)[0].split("  ")[0].strip() == "case"
    assert narrow(WIDE, 62)[-1] == "left out for want of room: trials"
    assert narrow(WIDE, 45)[-2:] == ["left out for want of room: trials, search", "  time (s)"]


def test_where_there_is_less_the_widest_words_are_folded() -> None:
    lines = narrow(WIDE, 30)
    assert all(len(line) <= 30 for line in lines)
    cells = [line[:19].strip() for line in lines[2:-2]]
    assert "".join(cells) == "conv2d-n1-h224-w224-ci3-co64"


def test_sentences_are_folded_between_words() -> None:
    lines = narrow(Lines(("one two three four five",), depth=1), 12)
    assert lines == ["  one two", "    three", "    four", "    five"]
    assert narrow(Lines(("conv2d-n1-h224-w224",)), 12) == ["conv2d-n1-h224-w224"]


def marked(block: Lines | Table, width: int | None = None) -> str:
    terminal = Terminal(mark=lambda outcome: f"<{outcome}>", width=width)
    return terminal.render(Report.of(Section("part", (block,))))


def test_outcomes_are_coloured_and_columns_stay_as_wide() -> None:
    columns = (Column("v", "verdict", kind="words"), Column("n", "n"))
    rows = tuple((GateMark(outcome), Count(1)) for outcome in ("holds", "broken"))
    table = Table(columns, (Group(rows),))
    plain = rendered(table)
    for width in (None, 80):
        text = marked(table, width)
        assert "<holds> " in text and "<broken> " in text
        assert re.sub("[<>]", "", text) == plain


def test_outcomes_in_sentences_are_coloured_after_folding() -> None:
    sentence = GateSentence("conv2d: ", "broken", " (holds)")
    assert marked(Lines((sentence, "it holds"))) == "conv2d: <broken> (holds)\nit holds"
    assert marked(Lines((sentence,)), 16) == "conv2d: <broken>\n  (holds)"


def test_text_from_a_file_cannot_stand_for_an_outcome() -> None:
    assert marked(Lines((GateSentence("\ue000\ue000", "holds"),))) == "??<holds>"
