"""Tables and figures like the paper's, from the result files of `paper.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from figures import figure

from pytest_ansorbench.records import CaseResult, Estimate
from pytest_ansorbench.report import Layout, Report, Section, Terminal, parse_columns
from pytest_ansorbench.report.cells import Cell, Count, Number, Text
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
COLUMNS: Final = (
    "case,strategy,search_time,propose,search_ratio,search_ratio_paper,search_ratio_trials,"
    "throughput_ratio,throughput,verdict"
)


def write_report(main: Path, controls: Path, stem: Path) -> None:
    """Write `STEM.txt` and `STEM-fig10.svg` from what there is."""
    judged = judge_result(read_result(main))
    cases = judged.cases
    sections = [
        told(f"ansor-bench show {main.name} --columns {COLUMNS}"),
        case_table(cases, Layout(parse_columns(COLUMNS)), suites=judged.suites),
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
    with figure(stem.with_name(f"{stem.name}-fig10.svg"), 1, 1, figsize=(6, 4)) as (fig, axes):
        draw_ratios(axes, search_ratios(cases))
        fig.legend(loc="outside lower center", ncols=3)


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


def search_ratios(cases: Sequence[CaseResult]) -> dict[str, Estimate]:
    """S of both ideas, by case."""
    return {
        case.case: verdict.comparison.search_ratio
        for case in cases
        for verdict in case.verdicts
        if verdict.comparison.challenger.strategy == "optimized"
    }


def draw_ratios(axes: Axes, ratios: Mapping[str, Estimate]) -> None:
    """Draw S of both ideas by case, with intervals, beside the default and the paper's mean."""
    values, low, high = (
        np.array([getattr(one, field) for one in ratios.values()])
        for field in ("value", "low", "high")
    )
    at = np.arange(len(ratios))
    finite = np.where(np.isfinite(values), values, 0.0)
    top = np.where(np.isfinite(high), high, finite)
    axes.bar(at, np.ones(len(ratios)), 0.4, label="default", color="#8da0cb")
    axes.bar(at + 0.4, finite, 0.4, label="both", color="#fc8d62")
    axes.errorbar(
        at + 0.4,
        finite,
        [np.maximum(finite - low, 0.0), np.maximum(top - finite, 0.0)],
        fmt="none",
        ecolor="black",
        capsize=4,
    )
    for x, estimate, end in zip(at + 0.4, ratios.values(), np.maximum(top, finite), strict=True):
        text = bar_text(estimate)
        axes.annotate(text, (x, end), (0, 3), textcoords="offset points", ha="center")
    axes.axhline(PAPER["optimized"], color="gray", linestyle="--", label="paper's mean")
    axes.set_xticks(at + 0.2, [case.split("-")[0] for case in ratios])
    axes.set_ylabel("ratio to default, 95% interval")
    axes.set_title("Figure 10: S, both ideas")
    axes.margins(y=0.15)


def bar_text(estimate: Estimate) -> str:
    """The figure on top of a bar."""
    sign = {"at-least": ">= ", "at-most": "<= "}.get(estimate.bound, "")
    open_above = "" if np.isfinite(estimate.high) else "\n(open above)"
    return f"{sign}{estimate.value:.2f}{open_above}"
