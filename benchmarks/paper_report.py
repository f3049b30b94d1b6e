"""Tables and figures like the paper's, from the result files of `paper.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from curves import draw, figure

from pytest_ansorbench.records import CaseResult, Estimate
from pytest_ansorbench.report import Layout, Report, Section, Terminal, curves, parse_columns
from pytest_ansorbench.report.cells import Cell, Count, Number, Ratio, Text
from pytest_ansorbench.report.controls import control_lines
from pytest_ansorbench.report.decisions import RuleTotals, rule_totals
from pytest_ansorbench.report.details import case_details
from pytest_ansorbench.report.sections import Column, Group, Lines, Table
from pytest_ansorbench.report.table import case_table
from pytest_ansorbench.stats.distribution import case_ways
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.storage import read_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Section 5.4, figures 10, 17 and 18: operators, rules alone, sketches alone (on three networks).
PAPER: Final = {"optimized": 0.75, "rules": 0.89, "etc": 0.82}
NAMES: Final = {"optimized": "both", "rules": "rules predicted", "etc": "sketches predicted"}
COLUMNS: Final = (
    "case,strategy,search_time,propose,search_ratio,search_ratio_paper,search_ratio_trials,"
    "throughput_ratio,throughput,verdict"
)
#: Ratio, strategy, title and ending of the file.
BARS: Final = (
    ("search_ratio", "optimized", "Figure 10: S, both ideas", "fig10"),
    ("throughput_ratio", "optimized", "Figure 12: throughput ratio", "fig12"),
    ("search_ratio", "rules", "Figure 17: S, rules alone", "fig17"),
    ("search_ratio", "etc", "Figure 18: S, sketches alone", "fig18"),
)


def write_report(main: Path, controls: Path, stem: Path) -> None:
    """Write `STEM.txt` and `STEM-*.svg` from what there is."""
    judged = judge_result(read_result(main))
    cases = judged.cases
    [table] = case_table(cases, Layout(parse_columns(COLUMNS)), suites=judged.suites).blocks
    assert isinstance(table, Table)
    sections = [
        told(f"ansor-bench show {main.name} --columns {COLUMNS}"),
        Section("cases", (table,)),
        told("The paper's figures: S " + ", ".join(f"{PAPER[name]} for {name}" for name in PAPER)),
        told("Do predictions come true? Mutations by rule, over all runs and rounds:"),
        Section("rules", (rules_table(cases),)),
    ]
    if controls.exists():
        control = judge_result(read_result(controls))
        sections += [
            told(f"ansor-bench show {controls.name}"),
            case_table(control.cases, Layout(parse_columns(COLUMNS)), suites=control.suites),
            Section("controls", (control_lines(control.cases, control.criteria),)),
        ]
    sections += [case_details(case, case_ways(case, judged.criteria)) for case in cases]
    text = Terminal().render(Report.of(*sections))
    stem.with_name(f"{stem.name}.txt").write_text(text + "\n", encoding="utf-8")
    for key, strategy, title, suffix in BARS:
        path = stem.with_name(f"{stem.name}-{suffix}.svg")
        with figure(path, 1, 1, figsize=(6, 4)) as (fig, axes):
            draw_bars(axes, table, key, strategy)
            axes.set_title(title)
            fig.legend(loc="outside lower center", ncols=3)
    for case in cases:
        path = stem.with_name(f"{stem.name}-fig14-{short(case.case)}.svg")
        draw(curves(case), f"Figure 14: {case.case}", path)


def told(text: str) -> Section:
    """A line between the sections."""
    return Section("text", (Lines((text,)),))


def rules_table(cases: Sequence[CaseResult]) -> Table:
    """For each case, strategy and rule: how often it was tried, and its result."""
    rows = tuple(
        (Text(case.case), Text(strategy), *rule_cells(totals))
        for case in cases
        for strategy in case.strategies
        for totals in rule_totals(case.runs_of(strategy))
    )
    columns = (
        Column("case", "case", kind="words"),
        Column("strategy", "strategy", kind="words"),
        *(
            Column(field.name, field.name, kind="words" if number < 2 else "figures")
            for number, field in enumerate(fields(RuleTotals))
        ),
    )
    return Table(columns, (Group(rows),))


def rule_cells(totals: RuleTotals) -> tuple[Cell, ...]:
    """The fields of a rule's record, in their order."""
    return (
        Text(totals.rule),
        Text(str(totals.predicted)),
        Count(totals.applied),
        Count(totals.inapplicable),
        Count(totals.invalid),
        Number.of(totals.gain, ".3f"),
        Number.of(totals.improved, ".3f"),
        Count(totals.measured),
        Number.of(totals.expected, ".3f"),
        Number.of(totals.realised, ".3f"),
    )


def draw_bars(axes: Axes, table: Table, key: str, strategy: str) -> None:
    """Draw the reference against a challenger: a pair of bars for each case, with intervals.

    Args:
        axes: Where to draw.
        table: The table of cases.
        key: The column with the ratio.
        strategy: The challenger.
    """
    ratios = ratios_of(table, key, strategy)
    at = np.arange(len(ratios))
    width = 0.4
    axes.bar(at, np.ones(len(ratios)), width, label="default", color="#8da0cb")
    values = np.array([estimate.value for estimate in ratios.values()])
    finite = np.where(np.isfinite(values), values, 0.0)
    low = np.array([estimate.low for estimate in ratios.values()])
    high = np.array([estimate.high for estimate in ratios.values()])
    top = np.where(np.isfinite(high), high, finite)
    axes.bar(at + width, finite, width, label=NAMES[strategy], color="#fc8d62")
    axes.errorbar(
        at + width,
        finite,
        [np.maximum(finite - low, 0.0), np.maximum(top - finite, 0.0)],
        fmt="none",
        ecolor="black",
        capsize=4,
    )
    for x, estimate, end in zip(at + width, ratios.values(), top, strict=True):
        height = max(end, estimate.value if np.isfinite(estimate.value) else 0.0)
        text = bar_text(estimate)
        axes.annotate(text, (x, height), (0, 3), textcoords="offset points", ha="center")
    if key == "search_ratio":
        axes.axhline(PAPER[strategy], color="gray", linestyle="--", label="paper's mean")
    axes.set_xticks(at + width / 2, [short(case) for case in ratios])
    axes.set_ylabel("ratio to default, 95% interval")
    axes.margins(y=0.15)


def bar_text(estimate: Estimate) -> str:
    """The figure on top of a bar."""
    sign = {"at-least": ">= ", "at-most": "<= "}.get(estimate.bound, "")
    open_above = "" if np.isfinite(estimate.high) else "\n(open above)"
    return f"{sign}{estimate.value:.2f}{open_above}"


def ratios_of(table: Table, key: str, strategy: str) -> dict[str, Estimate]:
    """One ratio of a challenger, by case."""
    columns: list[Any] = [table.column(name) for name in ("case", "strategy", key)]
    return {
        case.text: cell.estimate
        for case, arm, cell in zip(*columns, strict=True)
        if arm.text == strategy and isinstance(cell, Ratio)
    }


def short(case: str) -> str:
    """A case's family."""
    return case.split("-")[0]
