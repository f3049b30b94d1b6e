"""Reports on a terminal."""

from __future__ import annotations

import pytest

from pytest_ansorbench.report import Report, Section, Terminal
from pytest_ansorbench.report.cells import Count, Gap, SuiteRatio, Text
from pytest_ansorbench.report.sections import (
    Axis,
    Chart,
    Column,
    Group,
    Lines,
    Series,
    Table,
)
from pytest_ansorbench.stats.quotient import UNDEFINED
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
    section = Section("details", (Lines((("x",), ("y",)), depth=1), table))
    assert rendered(section) == "  x\n  y\n    case\n    ------\n    a"


def test_sections_are_set_off_by_a_blank_line() -> None:
    one, two = (Section(word, (Lines(((word,),)), Lines(((word,),)))) for word in ("one", "two"))
    assert Terminal().render(Report.of(one, two)) == "one\none\n\ntwo\ntwo"


def test_lines_are_painted_whole_by_their_tone() -> None:
    lines = (Lines((("calm",),)), Lines((("careful ", Count(1)),), depth=1, tone="warning"))
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
