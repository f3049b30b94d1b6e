"""Changes as a table, in sentences, and as figures."""

from __future__ import annotations

import dataclasses
import math

from pytest_ansorbench.records import Estimate, Gate
from pytest_ansorbench.report.cells import Gap, GateMark, Number, Ratio, Text
from pytest_ansorbench.report.changes import (
    change_forests,
    changes_notes,
    changes_table,
    comparison_report,
)
from pytest_ansorbench.report.sections import Chart, Lines, Report, Section
from pytest_ansorbench.stats.changes import CaseChanges, Change
from tests.report.rendered import lines_of, rendered
from tests.synthetic import CRITERIA, make_case_result

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


def test_a_ratio_to_what_has_no_kernel_is_infinite_and_no_time() -> None:
    lost = Change("conv2d|x", "fast", "throughput_ratio", 1.2, math.inf, WORSE, None)
    line = lines_of(changes_table([CaseChanges("conv2d|x", (lost,))]))[2]
    assert line.split()[3:5] == ["1.2", "inf"]


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


BRIEF = Report.of(Section("changes", (Lines(("brief",)),)))


def change(metric: str, ratio: float = 1.5, **kwargs: object) -> Change:
    estimate = Estimate(ratio, ratio / 2, ratio * 2, **kwargs)  # type: ignore[arg-type]
    return Change("conv2d", "fast", metric, 1.0, ratio, estimate, None)


def test_every_figure_is_a_forest_of_what_could_be_compared() -> None:
    changes = [
        CaseChanges("conv2d", (change("search_ratio"), change("throughput"))),
        CaseChanges("matmul", (), incomparable="other budget"),
        CaseChanges("softmax", (change("search_ratio", bound="undefined"),)),
    ]
    search, throughput_ratio, throughput, search_time = change_forests(changes)
    assert [row.label for row in search.rows] == ["conv2d, fast"]
    assert search.rows[0].estimate.value == 1.5
    assert len(throughput.rows) == 1
    assert not throughput_ratio.rows and not search_time.rows


def test_curves_of_both_are_shown_for_the_cases_that_both_have() -> None:
    before, after = make_case_result("a"), make_case_result("a")
    report = comparison_report(BRIEF, [], [before], [after, make_case_result("b")], CRITERIA)
    assert [section.key for section in report.sections] == ["changes", "curves"]
    curves = report.sections[1]
    assert curves.subject == "a"
    over_trials, over_time = curves.blocks
    assert isinstance(over_trials, Chart) and isinstance(over_time, Chart)
    labels = ["default, before", "default, now", "fast, before", "fast, now"]
    assert [series.label for series in over_trials.series] == labels
    assert [series.label for series in over_time.series] == labels
