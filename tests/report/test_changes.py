"""Changes as a table and in sentences."""

from __future__ import annotations

import dataclasses
import math

from pytest_ansorbench.records import Estimate, Gate
from pytest_ansorbench.report import changes_notes, changes_table
from pytest_ansorbench.report.cells import Gap, GateMark, Number, Ratio, Text
from pytest_ansorbench.stats.changes import CaseChanges, Change
from tests.report.rendered import lines_of, rendered

WORSE = Estimate(1.5, 1.2, 1.9)
BROKEN = Gate("search_ratio", 1.05, "broken", "beyond", WORSE, 5, 0.01)
FOUND = CaseChanges(
    "conv2d|x",
    (
        Change("conv2d|x", "fast", "search_ratio", 0.5, 0.75, WORSE, BROKEN),
        Change("conv2d|x", "fast", "time_to_target", 12.3456, math.inf, Estimate(2, 1, 3), None),
    ),
)
NEW = CaseChanges("new\x1b[31m", (), "the earlier result does not have it")


def test_a_row_per_figure_with_before_now_and_verdict() -> None:
    lines = lines_of(changes_table([FOUND, NEW]))
    assert lines[0].split("  ")[0] == "case"
    assert lines[2].split() == [
        *("conv2d|x", "fast", "search_ratio", "0.5", "0.75", "1.50", "[1.20,", "1.90]", "broken")
    ]
    assert lines[3].split()[3:5] == ["12.35", "never"]
    assert lines[3].endswith("  -")


def test_markdown_keeps_its_columns() -> None:
    lines = rendered(changes_table([FOUND]), "markdown").split("\n")
    assert "conv2d\\|x" in lines[2]
    assert {line.replace("\\|", "").count("|") for line in lines} == {8}


def test_sentences_name_what_is_not_kept_and_what_was_not_compared() -> None:
    assert lines_of(changes_notes([FOUND, NEW], "--any-machine")) == [
        "conv2d|x, fast: search_ratio now over before = 1.50 [1.20, 1.90] exceeds the limit 1.05: "
        "broken",
        "new?[31m: not compared: the earlier result does not have it",
    ]


def test_nothing_to_compare_is_a_sentence() -> None:
    assert rendered(changes_table([NEW])) == "nothing could be compared"


def test_figures_are_cells_of_their_metric() -> None:
    elsewhere = dataclasses.replace(FOUND.changes[0], before=None, after=None, gate=None)
    first, _, last = changes_table([FOUND, CaseChanges("other", (elsewhere,))]).rows
    assert first[2:] == (
        Text("search_ratio"),
        Number.of(0.5),
        Number.of(0.75),
        Ratio(Estimate(1.5, 1.2, 1.9)),
        GateMark("broken"),
    )
    assert (last[3], last[4], last[6]) == (Gap.UNKNOWN, Gap.UNKNOWN, Gap.IRRELEVANT)
