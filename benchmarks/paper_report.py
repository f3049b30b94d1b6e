"""Tables and figures like the paper's, from the result files of `paper.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from curves import draw
from matplotlib import pyplot as plt
from tabulate import tabulate

from pytest_ansorbench.records import CaseResult, Estimate
from pytest_ansorbench.report import (
    RuleTotals,
    control_sentences,
    describe_case,
    parse_columns,
    render_table,
    rule_totals,
)
from pytest_ansorbench.stats.judge_case import judge_result
from pytest_ansorbench.storage import read_result

#: Section 5.4, figures 10, 17 and 18: operators, rules alone, sketches alone (on three networks).
PAPER = {"optimized": 0.75, "rules": 0.89, "etc": 0.82}
NAMES = {"optimized": "both", "rules": "rules predicted", "etc": "sketches predicted"}
COLUMNS = (
    "case,strategy,search_time,propose,search_ratio,search_ratio_paper,search_ratio_trials,"
    "throughput_ratio,throughput,verdict"
)


def write_report(main: Path, controls: Path, stem: Path) -> None:
    """Write `STEM.txt` and `STEM-*.svg` from what there is."""
    cases, criteria = judge_result(read_result(main))
    lines = [
        f"ansor-bench show {main.name} --columns {COLUMNS}",
        "",
        render_table(cases, columns=parse_columns(COLUMNS)),
        "",
        "The paper's figures: S " + ", ".join(f"{PAPER[name]} for {name}" for name in PAPER),
        "",
        "Do predictions come true? Mutations by rule, over all runs and rounds:",
        "",
        *rule_lines(cases),
    ]
    if controls.exists():
        control_cases, control_criteria = judge_result(read_result(controls))
        lines += [
            "",
            f"ansor-bench show {controls.name}",
            "",
            render_table(control_cases, columns=parse_columns(COLUMNS)),
            "",
            *control_sentences(control_cases, control_criteria),
        ]
    for case in cases:
        lines += ["", *describe_case(case, criteria)]
    stem.with_name(f"{stem.name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    bars(cases, "search_ratio", ["optimized"], "Figure 10: S, both ideas", stem, "fig10")
    bars(cases, "throughput_ratio", ["optimized"], "Figure 12: throughput ratio", stem, "fig12")
    bars(cases, "search_ratio", ["rules"], "Figure 17: S, rules alone", stem, "fig17")
    bars(cases, "search_ratio", ["etc"], "Figure 18: S, sketches alone", stem, "fig18")
    for case in cases:
        draw(
            case,
            f"Figure 14: {case.case}",
            stem.with_name(f"{stem.name}-fig14-{short(case)}.svg"),
        )


def rule_lines(cases: Sequence[CaseResult]) -> list[str]:
    """Per case and strategy, what each rule was tried for and what came of it."""
    rows = [
        [case.case, strategy, *astuple(each)]
        for case in cases
        for strategy in case.strategies
        for each in rule_totals(case.runs_of(strategy))
    ]
    headers = ["case", "strategy", *(each.name for each in fields(RuleTotals))]
    return [tabulate(rows, headers=headers, floatfmt=".3f")]


def short(case: CaseResult) -> str:
    """A case's family."""
    return case.case.split("-")[0]


def bars(
    cases: Sequence[CaseResult],
    figure: str,
    strategies: Sequence[str],
    title: str,
    stem: Path,
    suffix: str,
) -> None:
    """Default against optimized, one pair of bars a case, with intervals."""
    fig, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    at = np.arange(len(cases))
    width = 0.8 / (1 + len(strategies))
    axes.bar(at, np.ones(len(cases)), width, label="default", color="#8da0cb")
    for number, strategy in enumerate(strategies, start=1):
        estimates = [ratio_of(case, strategy, figure) for case in cases]
        values = np.array([each.value for each in estimates])
        finite = np.where(np.isfinite(values), values, 0.0)
        low = np.array([each.low for each in estimates])
        high = np.array([each.high for each in estimates])
        top = np.where(np.isfinite(high), high, finite)
        axes.bar(at + number * width, finite, width, label=NAMES[strategy], color="#fc8d62")
        axes.errorbar(
            at + number * width,
            finite,
            [np.maximum(finite - low, 0.0), np.maximum(top - finite, 0.0)],
            fmt="none",
            ecolor="black",
            capsize=4,
        )
        for x, estimate, at_least in zip(at + number * width, estimates, top, strict=True):
            sign = {"at-least": ">= ", "at-most": "<= "}.get(estimate.bound, "")
            text = f"{sign}{estimate.value:.2f}"
            text += "" if np.isfinite(estimate.high) else "\n(open above)"
            height = max(at_least, estimate.value if np.isfinite(estimate.value) else 0.0)
            axes.annotate(text, (x, height), (0, 3), textcoords="offset points", ha="center")
    if figure == "search_ratio":
        axes.axhline(PAPER[strategies[0]], color="gray", linestyle="--", label="paper's mean")
    axes.set_xticks(at + width * len(strategies) / 2, [short(case) for case in cases])
    axes.set_ylabel("ratio to default, 95% interval")
    axes.set_title(title)
    axes.margins(y=0.15)
    fig.legend(loc="outside lower center", ncols=3)
    fig.savefig(stem.with_name(f"{stem.name}-{suffix}.svg"), metadata={"Date": None})
    plt.close(fig)


def ratio_of(case: CaseResult, strategy: str, figure: str) -> Estimate:
    """One ratio of a case."""
    [verdict] = [v for v in case.verdicts if v.comparison.challenger.strategy == strategy]
    estimate: Estimate = getattr(verdict.comparison, figure)
    return estimate
