"""Tables as comma-separated values."""

from __future__ import annotations

import csv
import io
import math

from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import (
    REFERENCE,
    Gap,
    Part,
    Ratio,
    Seconds,
    Setting,
    Text,
    throughput,
)
from pytest_ansorbench.report.render.text import printable
from pytest_ansorbench.report.sections import Column, Group, Lines, Section, Table
from tests.report.rendered import rendered

COLUMNS = (
    Column("case", "case", kind="words"),
    Column("search_time", "search time", "s"),
    Column("search_ratio", "S"),
    Column("throughput", "GFLOP/s", "GFLOP/s"),
    Column("failed", "failed"),
)
ROWS = (
    (Text("conv, 2d"), Seconds(1 / 3), REFERENCE, throughput(12.5), Part(1, 8)),
    (Text("b"), Gap.UNKNOWN, Ratio(Estimate(0.5, 0.25, math.inf)), Gap.IRRELEVANT, Part(0, 8)),
)


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_figures_are_in_full_and_what_qualifies_them_has_columns_of_its_own() -> None:
    first, second = read(rendered(Table(COLUMNS, (Group(ROWS),)), "csv"))
    assert first == {
        "case": "conv, 2d",
        "search_time_s": repr(1 / 3),
        "search_ratio": "1.0",
        "search_ratio_low": "",
        "search_ratio_high": "",
        "search_ratio_bound": "",
        "throughput_gflops": "12.5",
        "failed": "1",
        "failed_of": "8",
    }
    assert (second["search_time_s"], second["throughput_gflops"]) == ("", "")
    assert [second[f"search_ratio{end}"] for end in ("", "_low", "_high", "_bound")] == [
        "0.5",
        "0.25",
        "inf",
        "value",
    ]


def test_an_undefined_ratio_has_no_figures() -> None:
    table = Table(COLUMNS[2:3], (Group(((Ratio(Estimate(0.0, 0.0, 1.0, "undefined")),),)),))
    [row] = read(rendered(table, "csv"))
    assert [*row.values()] == ["", "", "", "undefined"]


def test_only_tables_are_written_with_a_blank_line_between() -> None:
    table = Table(COLUMNS[:1], (Group(((Text("a"),),)),))
    section = Section("part", (Lines(("words",)), table, Lines(("more",)), table))
    assert rendered(section, "csv") == "case\na\n\ncase\na"


def test_the_case_of_a_section_is_a_column() -> None:
    table = Table(COLUMNS[-1:], (Group(((Part(1, 8),), (Part(2, 8),))),))
    section = Section("part", (table,), subject="=a,b")
    assert rendered(section, "csv") == 'case,failed,failed_of\n"\'=a,b",1,8\n"\'=a,b",2,8'


@given(st.sampled_from("=+-@\uff1d\uff20"), st.text(" \t\n\r"), st.text())
def test_no_cell_is_a_formula(sign: str, before: str, after: str) -> None:
    text = f"{before}{sign}{after}"
    table = Table((*COLUMNS[:1], Column(text, text)), (Group(((Text(text), Setting(text)),)),))
    headings, row = csv.reader(io.StringIO(rendered(table, "csv")))
    assert [cell[0] for cell in (headings[1], *row)] == ["'"] * 3
    assert row[0].endswith(printable(text))


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_no_text_breaks_out_of_its_cell(texts: list[str]) -> None:
    rows = tuple((Text(text), Seconds(1.0)) for text in texts)
    found = read(rendered(Table(COLUMNS[:2], (Group(rows),)), "csv"))
    assert [[*row.values()][1:] for row in found] == [["1.0"]] * len(texts)
