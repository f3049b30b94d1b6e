"""Changes as a table and in sentences."""

from __future__ import annotations

import math

from pytest_ansorbench.records import Estimate, Gate
from pytest_ansorbench.report import describe_changes, render_changes
from pytest_ansorbench.stats.changes import CaseChanges, Change

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
    lines = render_changes([FOUND, NEW]).splitlines()
    assert lines[0].split("  ")[0] == "case"
    assert lines[2].split() == [
        *("conv2d|x", "fast", "search_ratio", "0.5", "0.75", "1.50", "[1.20,", "1.90]", "broken")
    ]
    assert lines[3].split()[3:5] == ["12.35", "never"]
    assert lines[3].endswith("  -")


def test_markdown_keeps_its_columns() -> None:
    lines = render_changes([FOUND], markdown=True).splitlines()
    assert "conv2d\\|x" in lines[2]
    assert {line.replace("\\|", "").count("|") for line in lines} == {8}


def test_sentences_name_what_is_not_kept_and_what_was_not_compared() -> None:
    assert describe_changes([FOUND, NEW], "--any-machine") == (
        "conv2d|x, fast: search_ratio now over before = 1.50 [1.20, 1.90] exceeds the limit 1.05: "
        "broken",
        "new?[31m: not compared: the earlier result does not have it",
    )


def test_nothing_to_compare_is_a_sentence() -> None:
    assert render_changes([NEW]) == "nothing could be compared"
