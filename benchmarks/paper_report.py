"""Tables and the figure like the paper's, from the result files of `paper.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from pytest_ansorbench.cli import main as ansor_bench
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.cells import Cell, Count, Number, Text
from pytest_ansorbench.report.columns import parse_columns
from pytest_ansorbench.report.controls import control_lines
from pytest_ansorbench.report.decisions import RuleTotals, rule_totals
from pytest_ansorbench.report.details import case_details
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.sections import Column, Group, Lines, Report, Section, Table
from pytest_ansorbench.report.table import Layout, case_table
from pytest_ansorbench.stats.distribution import case_ways
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.storage import read_result

#: Section 5.4, figures 10, 17 and 18; those of networks are means over three.
PAPER: Final = "S 0.75 for optimized (operators), 0.89 for rules and 0.82 for etc (networks)"
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
        told(f"The paper's figures: {PAPER}"),
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
    figure = stem.with_name(f"{stem.name}-fig10.svg")
    ansor_bench(["plot", "fig10", str(main), "-o", str(figure)])


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
