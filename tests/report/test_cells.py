"""How cells read."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import (
    REFERENCE,
    Cell,
    Count,
    Gap,
    GateMark,
    Number,
    Part,
    Ratio,
    Seconds,
    Setting,
    SuiteRatio,
    Text,
    TimeToTarget,
    percentage,
    plain_ratio,
    throughput,
)

UNDEFINED = Estimate(0.0, 0.0, math.inf, "undefined")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (plain_ratio(0.0274), "0.027"),
        (Gap.UNKNOWN, "n/a"),
        (Gap.IRRELEVANT, "-"),
        (Gap.EMPTY, ""),
        (Text("a\x1b[31m|"), "a\x1b[31m|"),
        (GateMark("undecided"), "undecided"),
        (Count(10240), "10240"),
        (Part(3, 12), "3/12"),
        (Seconds(9.994), "9.99"),
        (Seconds(10.04), "10.0"),
        (Seconds(0.01004, "ms"), "10.0"),
        (Seconds(math.inf), "never"),
        (TimeToTarget(2.333, 4, 4), "2.33"),
        (TimeToTarget(2.333, 3, 4), "2.33 (3/4)"),
        (TimeToTarget(math.inf, 0, 4), "never (0/4)"),
        (throughput(1234.4), "1234"),
        (throughput(56.78), "56.8"),
        (throughput(3.456), "3.46"),
        (throughput(0.0344), "0.034"),
        (Number.of(28.6749, ".3f"), "28.675"),
        (Number.of(12345.6, ".4g"), "12346"),
        (Number.of(120.4, ".2g"), "120"),
        (Number.of(9999.6), "10000"),
        (Number.of(0.5, ".4g"), "0.5"),
        (Number.of(0.305, ".0%"), "30%"),
        (Number.of(math.inf, ".4g"), "never"),
        (percentage(1.0), "100%"),
        (percentage(0.000091), "0.0091%"),
        (Ratio(Estimate(0.62, 0.51, math.inf)), "0.62 [0.51, inf]"),
        (Ratio(Estimate(1.8, 1.2, math.inf, "at-least")), ">= 1.80"),
        (Ratio(UNDEFINED), "n/a"),
        (REFERENCE, "1 (ref)"),
        (SuiteRatio(Estimate(0.25, 0.2, 0.3), 3, 3), "0.25 [0.20, 0.30]"),
        (SuiteRatio(Estimate(0.25, 0.0, math.inf), 2, 3), "0.25 (2 of 3)"),
        (SuiteRatio(UNDEFINED, 0, 3), "n/a"),
        (Setting(("a", ["b", 1])), "a, b, 1"),
        (Setting(None), "none"),
        (Setting(True), "true"),
    ],
)
def test_text(cell: Cell, text: str) -> None:
    assert str(cell) == text


@pytest.mark.parametrize(
    ("cell", "fields"),
    [
        (Gap.UNKNOWN, {"": None}),
        (GateMark("holds"), {"": "holds"}),
        (Part(3, 12), {"": 3, "of": 12}),
        (Seconds(0.25, "ms"), {"": 250.0}),
        (TimeToTarget(math.inf, 0, 4), {"": "inf", "reached": 0, "runs": 4}),
        (throughput(0.0), {"": None}),
        (Number.of(math.nan, ".2f"), {"": None}),
        (Number.of(-math.inf, ".2f"), {"": "-inf"}),
        (percentage(0.123456), {"": 0.123456}),
        (REFERENCE, {"": 1.0}),
        (Ratio(UNDEFINED), {"": None, "low": None, "high": None, "bound": "undefined"}),
        (
            SuiteRatio(Estimate(0.5, 0.4, math.inf), 1, 2),
            {"": 0.5, "low": 0.4, "high": "inf", "bound": "value", "cases": 1, "of": 2},
        ),
        (Setting(("a", "b")), {"": ["a", "b"]}),
    ],
)
def test_fields(cell: Cell, fields: dict[str, object]) -> None:
    assert cell.fields() == fields
