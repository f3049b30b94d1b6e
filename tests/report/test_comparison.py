"""Two results beside each other."""

from __future__ import annotations

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report import Report, Section, comparison_report
from pytest_ansorbench.report.changes import change_forests
from pytest_ansorbench.report.sections import Chart, Lines
from pytest_ansorbench.stats.changes import CaseChanges, Change
from tests.synthetic import make_case_result

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
    report = comparison_report(BRIEF, [], [before], [after, make_case_result("b")])
    assert [section.key for section in report.sections] == ["changes", "curves"]
    curves = report.sections[1]
    assert curves.subject == "a"
    over_trials, over_time = curves.blocks
    assert isinstance(over_trials, Chart) and isinstance(over_time, Chart)
    labels = ["default, before", "default, now", "fast, before", "fast, now"]
    assert [series.label for series in over_trials.series] == labels
    assert [series.label for series in over_time.series] == labels
