"""The contract of a renderer: subclass `RendererContract` in a test module, and its tests run.

They hold for every format in which a report is text: no fact is lost, and nothing that a file
says can end its cell, begin another line, or command a terminal.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_ansorbench.records import Estimate, Outcome
from pytest_ansorbench.report.cells import (
    REFERENCE,
    Cell,
    Count,
    Gap,
    GateMark,
    Number,
    Part,
    Ratio,
    Seconds,
    Setting,
    SuiteRatio,
    Text,
    TimeToTarget,
)
from pytest_ansorbench.report.render.formats import Renderer
from pytest_ansorbench.report.sections import (
    Axis,
    Bars,
    Block,
    Chart,
    Code,
    Column,
    Forest,
    GateSentence,
    Group,
    Interval,
    Lines,
    Report,
    Section,
    Series,
    Stack,
    Table,
)

#: Of each kind cells that have to read differently.
EXAMPLES: dict[type, tuple[Cell, ...]] = {
    Gap: (Gap.UNKNOWN, Gap.IRRELEVANT),
    Text: (Text("conv2d"), Text("matmul")),
    GateMark: (GateMark("holds"), GateMark("broken"), GateMark("undecided")),
    Count: (Count(0), Count(1024)),
    Part: (Part(3, 12), Part(0, 12), Part(3, 4)),
    Seconds: (Seconds(1.234), Seconds(123.4), Seconds(1.234, "ms"), Seconds(math.inf)),
    TimeToTarget: (
        TimeToTarget(58.8, 10, 10),
        TimeToTarget(58.8, 6, 10),
        TimeToTarget(math.inf, 0, 10),
    ),
    Number: (Number.of(0.1234, ".4f"), Number.of(0.1234, ".3g"), REFERENCE),
    Ratio: (
        Ratio(Estimate(0.62, 0.51, 0.88)),
        Ratio(Estimate(0.62, 0.51, math.inf)),
        Ratio(Estimate(1.8, 1.2, math.inf, "at-least")),
        Ratio(Estimate(1.8, 0.0, 2.0, "at-most")),
        Ratio(Estimate(0.0, 0.0, math.inf, "undefined")),
    ),
    SuiteRatio: (
        SuiteRatio(Estimate(0.25, 0.2, 0.3), 3, 3),
        SuiteRatio(Estimate(0.25, 0.0, math.inf), 2, 3),
        SuiteRatio(Estimate(0.0, 0.0, math.inf, "undefined"), 0, 3),
    ),
    Setting: (Setting(None), Setting(0.5), Setting(("a", "b")), Setting("a"), Setting(True)),
}

KINDS = pytest.mark.parametrize(
    "cells", EXAMPLES.values(), ids=[kind.__name__ for kind in EXAMPLES]
)
COLUMNS = (
    Column("name", "name", kind="words"),
    Column("value", "search time", "s"),
    Column("last", "last", kind="words"),
)
#: Control characters, line ends of every kind, half a character, markup, tabulate's own line.
HOSTILE = (
    *("\x1b[31m", "a\nb", "\r\n", "\x85\u2028\u2029", "\x00", "\x01", "\u202e", "a|b", "\\|"),
    "\udc80",
    *(
        "~~~x",
        "```",
        "a*b c*d",
        "_a_",
        "$a$",
        "[a](b)",
        "[^a]: b",
        "<b>",
        "&lt;",
        "@you",
        "&#64;you",
    ),
)


def hostile(test: Any) -> Any:
    """Run a test with text that may come from a file."""
    for text in HOSTILE:
        test = example(text)(test)
    # Wide characters would misalign the columns that tests read cells by.
    drawn = given(st.text(st.characters(max_codepoint=0x2FF)))(test)
    # The same test serves every renderer.
    return settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])(drawn)


class RendererContract:
    """Tests of one renderer."""

    renderer: ClassVar[Renderer]

    def cells(self, text: str) -> list[list[str]]:
        """Take a rendered table apart: headings, then rows, a string for each cell."""
        raise NotImplementedError

    def written(self, *blocks: Block) -> str:
        return self.renderer.render(Report.of(Section("part", blocks)))

    def table(self, cell: Cell, **more: int) -> str:
        row = (Text("first"), cell, Text("last"))
        return self.written(Table(COLUMNS, (Group((row,)), Group((row,), "summary")), **more))

    def column(self, *cells: Cell) -> str:
        rows = tuple((Text("first"), cell, Text("last")) for cell in cells)
        return self.written(Table(COLUMNS, (Group(rows),)))

    def test_examples_are_of_every_kind_of_cell(self) -> None:
        assert set(EXAMPLES) == set(get_args(Cell))

    @KINDS
    def test_a_cell_keeps_its_place_in_a_table_and_what_it_tells(
        self, cells: tuple[Cell, ...]
    ) -> None:
        seen = set()
        for cell in cells:
            headings, *rows = self.cells(self.table(cell))
            assert [len(headings), *map(len, rows)] == [3, 3, 3]
            assert [(row[0], row[2]) for row in rows] == [("first", "last")] * 2
            assert rows[0][1] == rows[1][1] != ""
            seen.add(rows[0][1])
        assert len(seen) == len(cells)
        assert not any(type(cell).__name__ in text for cell in cells for text in seen)

    @pytest.mark.parametrize("outcome", ["holds", "broken", "undecided"])
    def test_an_outcome_stands_between_the_words_of_its_sentence(self, outcome: Outcome) -> None:
        text = self.written(Lines((GateSentence("after ", outcome, " before"),)))
        start, end = text.index("after "), text.rindex(" before")
        assert outcome in text[start + len("after ") : end]

    def test_a_cell_without_anything_is_empty(self) -> None:
        assert [row[1] for row in self.cells(self.table(Gap.EMPTY))[1:]] == ["", ""]

    def test_headings_tell_units(self) -> None:
        name, value, _ = self.cells(self.table(Count(1)))[0]
        assert name == "name"
        assert "search time" in value and "s" in value.replace("search time", "")

    def test_sections_and_blocks_come_in_order(self) -> None:
        words = [f"sentence {number}" for number in range(4)]
        first, second, third, fourth = (Lines((word,)) for word in words)
        report = Report.of(Section("a", (first, second)), Section("b", (third, fourth)))
        text = self.renderer.render(report)
        places = [text.index(word) for word in words]
        assert places == sorted(places)

    def test_a_section_tells_the_case_that_it_is_of(self) -> None:
        table = Table.of(COLUMNS, [(Text("first"), Count(1), Text("last"))])
        report = Report.of(Section("a", (table,), subject="conv2d"))
        assert "conv2d" in self.renderer.render(report)

    def test_indented_blocks_and_warnings_are_written(self) -> None:
        assert "first" in self.table(Count(1), depth=2)
        assert "careful" in self.written(Lines(("careful",), depth=1, tone="warning"))

    def test_a_chart_tells_its_axes_and_curves(self) -> None:
        series = (Series("default", (1, 2, 3, 4), (0, 1, 2, 3)), Series("fast", (1, 2), (2, 4)))
        chart = Chart(Axis("trials"), Axis("best so far", "GFLOP/s"), series)
        text = self.written(chart)
        for word in ("trials", "best so far", "GFLOP/s", "default", "fast"):
            assert word in text

    def test_a_forest_plot_tells_its_ratios_and_what_they_are_of(self) -> None:
        rows = (
            Interval("conv2d", Estimate(0.62, 0.51, 0.88)),
            Interval("all", Estimate(1.8, 1.2, math.inf, "at-least"), "summary"),
        )
        text = self.written(Forest(Axis("search ratio"), rows, limit=0.9))
        for word in ("search ratio", "conv2d", "0.62", "0.51", "0.88", "all", "1.8"):
            assert word in text

    def test_bars_tell_their_parts_and_lengths(self) -> None:
        stacks = (Stack("default", (12.5, 3.0)), Stack("fast", (0.25, 3.0)))
        parts = ("propose", "build")
        text = self.written(Bars(Axis("search time", "s"), parts, stacks))
        for word in ("search time", "propose", "build", "default", "12.5", "fast", "0.25"):
            assert word in text

    def test_code_keeps_its_lines_and_their_indentation(self) -> None:
        text = self.written(Code("schedule", "def f():\n    return 1", "python"))
        assert text.index("schedule") < text.index("def f():") < text.index("    return 1")

    def test_a_curve_without_points_is_no_obstacle(self) -> None:
        axis = Axis("trials")
        assert "none" in self.written(Chart(axis, axis, (Series("none", (), ()),)))

    def test_text_has_no_newline_at_the_end(self) -> None:
        assert self.renderer.render(Report.of()) == ""
        for text in (self.table(Count(1)), self.written(Lines(("words",)))):
            assert text == text.rstrip("\n") != ""

    @hostile
    def test_no_text_breaks_out_of_its_cell(self, text: str) -> None:
        table = self.column(Text(text), Setting(text), Setting((text, text)))
        rows = self.cells(table)
        assert [len(row) for row in rows] == [3] * 4
        assert [(row[0], row[2]) for row in rows[1:]] == [("first", "last")] * 3
        self.check_like(table, self.column(*[Text("harmless")] * 3))

    @hostile
    def test_no_text_breaks_out_of_its_sentence(self, text: str) -> None:
        for sentence in (f"after {text} before", GateSentence(text, "holds", text)):
            written = self.written(Lines((sentence, "next")))
            self.check_like(written, self.written(Lines(("x", "next"))))

    @hostile
    def test_no_case_breaks_out_of_its_heading(self, text: str) -> None:
        written, harmless = (
            self.renderer.render(Report.of(Section("part", (Lines(("words",)),), case)))
            for case in (f"x{text}", "x")
        )
        self.check_like(written, harmless)

    @hostile
    def test_no_text_breaks_out_of_an_indented_table(self, text: str) -> None:
        self.check_like(self.table(Text(text), depth=2), self.table(Text("harmless"), depth=2))

    @hostile
    def test_no_label_breaks_out_of_its_chart(self, label: str) -> None:
        self.check_like(self.chart(label), self.chart("harmless"))

    @hostile
    def test_no_text_breaks_out_of_its_code(self, text: str) -> None:
        code = f"<\n{text}\n>"
        harmless = "\n".join(["x"] * len(code.splitlines()))
        self.check_like(self.written(Code("title", code)), self.written(Code("title", harmless)))

    def chart(self, *labels: str) -> str:
        """A chart of every kind, with the same labels in each."""
        axis = Axis("trials")
        return self.written(
            Chart(axis, axis, tuple(Series(label, (1,), (1,)) for label in labels)),
            Forest(axis, tuple(Interval(label, Estimate(0.5, 0.4, 0.6)) for label in labels)),
            Bars(axis, labels, tuple(Stack(label, (1.0,) * len(labels)) for label in labels)),
        )

    def check_like(self, text: str, harmless: str) -> None:
        """As many lines as harmless text has, of characters that do nothing."""
        assert text.count("\n") == harmless.count("\n")
        assert all(line.isprintable() for line in text.split("\n"))
