"""How figures read."""

from __future__ import annotations

import math

import pytest
from pytest_ansorbench.report.render.numbers import cell_text

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import (
    Cell,
    Cores,
    Count,
    Counted,
    Decimals,
    Decisions,
    Deviation,
    Figure,
    Gap,
    GateMark,
    Index,
    Latency,
    Limit,
    Memory,
    Part,
    Percentage,
    PlainRatio,
    Ratio,
    ReferenceRatio,
    Score,
    ScoreChange,
    Seconds,
    Shapes,
    Significant,
    Statement,
    SuiteRatio,
    Text,
    Throughput,
    TimeToTarget,
    Work,
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Statement(Estimate(0.62, 0.51, 0.88), 0.9), "= 0.62 [0.51, 0.88]"),
        (Statement(Estimate(0.62, 0.51, 0.9004), 0.9), "= 0.6200 [0.5100, 0.9004]"),
        (Statement(Estimate(1.8, 1.2, math.inf, "at-least"), 0.9), ">= 1.80 [1.20, inf]"),
        (Limit(0.9), "0.90"),
        (Limit(0.985), "0.985"),
        (PlainRatio(0.0274), "0.027"),
        (Gap.UNKNOWN, "n/a"),
        (Gap.IRRELEVANT, "-"),
        (Gap.EMPTY, ""),
        (Text("a\x1b[31m|"), "a\x1b[31m|"),
        (GateMark("undecided"), "undecided"),
        (Index(7), "7"),
        (Count(10240), "10240"),
        (Counted(0, "run"), "0 runs"),
        (Counted(1, "run"), "1 run"),
        (Counted(10_000, "resample"), "10,000 resamples"),
        (Part(3, 12), "3/12"),
        (Seconds(9.994), "9.99"),
        (Seconds(10.04), "10.0"),
        (Seconds(10.04, Decimals(3)), "10.040"),
        (Seconds(math.inf, Decimals(1)), "never"),
        (TimeToTarget(2.333, 4, 4), "2.33"),
        (TimeToTarget(2.333, 3, 4), "2.33 (3/4)"),
        (TimeToTarget(math.inf, 0, 4), "never (0/4)"),
        (Latency(28.6749, Decimals(3)), "28.675"),
        (Throughput(1234.4), "1234"),
        (Throughput(56.78), "56.8"),
        (Throughput(3.456), "3.46"),
        (Throughput(0.0344), "0.034"),
        (Throughput(328.41, Significant(4)), "328.4"),
        (Throughput(0.0, Decimals(1)), "0.0"),
        (Work(237.631, Decimals(2)), "237.63"),
        (Memory(399.6), "400"),
        (Cores(0.94), "0.9"),
        (Percentage(0.0125), "1.25%"),
        (Percentage(0.999), "99.9%"),
        (Percentage(0.305, Decimals(0)), "30%"),
        (Percentage(1.0, Significant(2)), "100%"),
        (Percentage(0.000091, Significant(2)), "0.0091%"),
        (Percentage(0.123456789, Significant(12)), "12.3456789%"),
        (Deviation(-0.2729), "-27.3%"),
        (Deviation(0.05), "+5.0%"),
        (Score(0.8333, Decimals(2)), "0.83"),
        (ScoreChange(0.0), "+0.000"),
        (Ratio(Estimate(0.62, 0.51, math.inf)), "0.62 [0.51, inf]"),
        (Ratio(Estimate(1.8, 1.2, math.inf, "at-least")), ">= 1.80"),
        (Ratio(Estimate(0.0, 0.0, math.inf, "undefined")), "n/a"),
        (ReferenceRatio(), "1 (ref)"),
        (SuiteRatio(Estimate(0.25, 0.2, 0.3), 3, 3), "0.25 [0.20, 0.30]"),
        (SuiteRatio(Estimate(0.25, 0.0, math.inf), 2, 3), "0.25 (2 of 3)"),
        (SuiteRatio(Estimate(0.0, 0.0, math.inf, "undefined"), 0, 3), "n/a"),
        (Figure("throughput", 12345.6), "1.235e+04"),
        (Figure("search_ratio", 0.5), "0.5"),
        (Figure("time_to_target", math.inf), "never"),
        (Shapes(((1, 784), (784, 128)), (1, 128)), "1x784, 784x128 -> 1x128"),
        (Shapes(((),), ()), "scalar -> scalar"),
        (Decisions({}), ""),
        (
            Decisions({"phase": "explore", "shares": [0.9, 1], "etc": None}),
            "phase=explore, shares=[0.9,1], etc=null",
        ),
    ],
)
def test_cells(cell: Cell, text: str) -> None:
    assert cell_text(cell) == text


def test_a_long_decision_is_cut_and_leaves_the_next_one_whole() -> None:
    text = cell_text(Decisions({"scores": list(range(100)), "phase": "p" * 60, "a": "p" * 61}))
    scores, phase, cut = text.split(", ")
    assert scores.endswith("...") and len(scores.removeprefix("scores=")) == 60
    assert phase == "phase=" + "p" * 60
    assert cut == "a=" + "p" * 57 + "..."
