"""Figures of `benchmarks/curves.py` and `benchmarks/paper_report.py`, drawn from sections."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.records import Estimate, Result
from pytest_ansorbench.report import curves
from pytest_ansorbench.report.sections import Axis, Table
from pytest_ansorbench.report.table import case_table
from pytest_ansorbench.storage import write_result
from tests.report.rendered import rendered, simple_cells
from tests.synthetic import make_case_result, make_result, make_run


@pytest.fixture
def scripts(import_script: Any) -> Any:
    """Both scripts; they need no Matplotlib until they write a figure."""
    return import_script("curves"), import_script("paper_report")


class Axes:
    """Takes note of what is drawn."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self.calls.append((name, arguments, options))

    def of(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [call[1:] for call in self.calls if call[0] == name]


def paper_result() -> Result:
    """Two cases of the strategies that the paper's figures are of; the second has a bound."""

    def runs(case: str, strategy: str, seconds: float, last: float | None = 1.0) -> list[Any]:
        return [
            make_run(case, strategy, seed, [2.0, last], seconds_per_trial=seconds, final=1.0)
            for seed in range(3)
        ]

    decided = {"drawn_rules": {"MutateUnroll": {"applied": 2, "gain": -0.5, "improved": 0.25}}}
    cases = []
    for case, last in (("matmul-m8", 1.0), ("conv2d-h8", None)):
        arms = {name: runs(case, name, 0.5) for name in ("etc", "rules")}
        drawn = make_run(case, "optimized", 0, [2.0, last], decisions=decided, final=1.0)
        arms["optimized"] = [drawn, *runs(case, "optimized", 0.5, last)[1:]]
        cases.append(make_case_result(case, runs(case, "default", 1.0), arms))
    return make_result(*cases)


def test_curves_are_steps_with_the_label_of_their_arm(scripts: Any) -> None:
    axes = Axes()
    [over_trials, over_time] = curves(make_case_result()).blocks
    for chart in (over_trials, over_time):
        scripts[0].draw_chart(axes, chart)
    assert [options["label"] for _, options in axes.of("step")] == ["default", "fast"] * 2
    (x, y), options = axes.of("step")[0]
    assert (len(x), y[-1], options["where"]) == (4, 1.0, "post")
    assert axes.of("set_xlabel") == [(("trials",), {}), (("search time (s)",), {})]
    assert scripts[0].axis_text(Axis("best")) == "best"


def test_bars_are_the_ratios_of_the_table_with_their_intervals(scripts: Any) -> None:
    _, paper = scripts
    [table] = case_table(paper_result().cases).blocks
    assert isinstance(table, Table)
    ratios = paper.ratios_of(table, "search_ratio", "optimized")
    assert list(ratios) == ["matmul-m8", "conv2d-h8"]
    assert ratios["conv2d-h8"].bound == "at-least"
    axes = Axes()
    paper.draw_bars(axes, table, "search_ratio", "optimized")
    reference, challenger = axes.of("bar")
    assert list(reference[0][1]) == [1.0, 1.0]
    assert list(challenger[0][1]) == [estimate.value for estimate in ratios.values()]
    assert [arguments[0] for arguments, _ in axes.of("annotate")][1].startswith(">= ")
    assert axes.of("axhline")[0][0] == (0.75,)
    assert axes.of("set_xticks")[0][0][1] == ["matmul", "conv2d"]


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.384, 0.2, 0.6), "0.38"),
        (Estimate(0.384, 0.2, math.inf), "0.38\n(open above)"),
        (Estimate(1.8, 1.2, math.inf, "at-least"), ">= 1.80\n(open above)"),
    ],
)
def test_a_bar_says_its_figure_and_whether_it_is_open(
    scripts: Any, estimate: Estimate, text: str
) -> None:
    assert scripts[1].bar_text(estimate) == text


def test_rules_are_a_row_each(scripts: Any) -> None:
    headings, *rows = simple_cells(rendered(scripts[1].rules_table(paper_result().cases)))
    assert headings[:5] == ["case", "strategy", "rule", "predicted", "applied"]
    expected = ["optimized", "MutateUnroll", "False", "2", "0", "0", "-0.500", "0.250"]
    assert [row[:9] for row in rows] == [[case, *expected] for case in ("matmul-m8", "conv2d-h8")]


def test_report_and_figures_are_written(scripts: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_result(paper_result(), tmp_path / "paper.json")
    scripts[1].write_report(tmp_path / "paper.json", tmp_path / "none.json", tmp_path / "paper")
    assert {path.stem for path in tmp_path.glob("*.svg")} == {
        f"paper-{name}"
        for name in ("fig10", "fig12", "fig17", "fig18", "fig14-matmul", "fig14-conv2d")
    }
    text = (tmp_path / "paper.txt").read_text(encoding="utf-8")
    assert text.startswith("ansor-bench show paper.json --columns case,strategy,search_time")
    assert "S 0.75 for optimized" in text and text.endswith("\n")
