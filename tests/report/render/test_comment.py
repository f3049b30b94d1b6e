"""Reports that have to fit into a comment: the worst is kept, and what is left out is said."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.report.build import result_report
from pytest_ansorbench.report.cells import GateMark, Text
from pytest_ansorbench.report.render.comment import MARK, Comment, fitted
from pytest_ansorbench.report.render.markdown import Markdown
from pytest_ansorbench.report.sections import (
    Code,
    Column,
    GateSentence,
    Group,
    Lines,
    Report,
    Section,
    Table,
)
from pytest_ansorbench.stats.limits import Limits
from tests.report.rendered import markdown_cells
from tests.synthetic import make_case_result, make_judged, named

COLUMNS = (Column("case", "case", kind="words"), Column("verdict", "verdict", kind="words"))


def outcome(number):
    """Two cases of a hundred are worth telling, and they are not the first ones."""
    return {49: "broken", 77: "undecided"}.get(number % 100, "holds")


def report(cases):
    """A verdict and a row for each of so many cases, a summary, and details of each."""
    lines = Lines(
        tuple(GateSentence(f"case{at} is sooner: ", outcome(at), " (S)") for at in range(cases))
    )
    bodies = (Group(((Text(f"case{at}"), GateMark(outcome(at))),)) for at in range(cases))
    summary = Group(((Text("all cases"), GateMark("broken")),), "summary")
    return Report.of(
        Section("verdicts", (lines,)),
        Section("cases", (Table(COLUMNS, (*bodies, summary)),)),
        Section("notes", (Lines(("warning: the machine was busy",)),)),
        *(Section("case", (Code("code", "x = 1"),), subject=f"case{at}") for at in range(cases)),
    )


def rows(text):
    """The rows of the table in a text."""
    table = [line for line in text.split("\n") if line.startswith("|")]
    return markdown_cells("\n".join(table))[1:]


def test_what_fits_is_all_of_it_after_a_mark():
    assert Comment().render(report(3)) == f"{MARK}\n\n{Markdown().render(report(3))}"


def test_what_does_not_fit_is_cut_to_the_worst_and_that_is_said():
    whole, text = report(1000), fitted(report(1000), 4_000)
    assert 3_000 < len(text.encode()) <= 4_000
    for number in range(1000):
        told = f"case{number} is sooner: {outcome(number)} (S)" in text
        assert told or number == 0 or outcome(number) != "broken"
    kept = rows(text)
    assert [case for case, _ in kept[:10]] == [f"case{at}" for at in range(49, 1000, 100)]
    assert [verdict for _, verdict in kept[:20]] == ["broken"] * 10 + ["undecided"] * 10
    assert kept[-1] == ["all cases", "broken"]
    assert text.count("x = 1") == 0
    last = text.rpartition("\n")[2]
    counted = {what: int(count) for count, what in re.findall(r"(\d+) ([a-z ]+)", last)}
    cases = sum(case.startswith("case") for case, _ in kept)
    sentences = text.count("is sooner") + text.count("warning")
    assert counted == {
        "cases of the table": 1000 - cases,
        "sentences": 1001 - sentences,
        "other parts": 1000,
    }
    assert len(Markdown().render(whole)) > 50_000


@given(st.integers(0, 150), st.integers(0, 6_000))
@settings(deadline=None, max_examples=20)
def test_no_more_is_written_than_there_is_room_for(cases, size):
    text = fitted(report(cases), size)
    assert len(text.encode()) <= size
    whole = Markdown().render(report(cases))
    assert text == whole or "see the whole report" in text or not text


def test_a_sentence_that_names_hundreds_of_cases_is_cut_and_leaves_room_for_the_table():
    long = "are undecided: " + ", ".join(f"case{number}" for number in range(5_000))
    parts = (Section("verdicts", (Lines((long,)),)), *report(30).sections[1:])
    text = fitted(Report.of(*parts), 4_000)
    assert len(text) <= 4_000
    assert " ..." in text.split("\n")[0]
    assert len(rows(text)) == 31


@pytest.mark.parametrize("size", [0, 20])
def test_without_room_there_is_nothing(size):
    assert fitted(report(2), size) == ""


def test_a_comment_on_hundreds_of_real_cases_fits():
    holds, broken = (make_case_result(limits=Limits({"search_ratio": at})) for at in (0.9, 0.1))
    cases = [named(broken if at == 700 else holds, f"conv2d-{'n' * 60}-{at}") for at in range(800)]
    text = Comment().render(result_report(make_judged(*cases)))
    assert 60_000 < len(text.encode()) <= 65_000
    assert text.startswith(f"{MARK}\n\n{cases[700].case}: ")
    assert rows(text)[0][0] == cases[700].case
    assert " cases of the table" in text.rpartition("\n")[2]
