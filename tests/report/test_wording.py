"""How figures read."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.wording import (
    counted,
    decisions_text,
    estimate_text,
    limit_text,
    percent_text,
    ratio_text,
    short_estimate_text,
    statement_text,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0162, "0.016"),
        (0.1, "0.10"),
        (0.625, "0.62"),
        (12.345, "12.35"),
        (1234.5, "1234"),
        (math.inf, "inf"),
    ],
)
def test_ratio(value: float, text: str) -> None:
    assert ratio_text(value) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.62, 0.51, 0.88), "0.62 [0.51, 0.88]"),
        (Estimate(0.62, 0.0, math.inf), "0.62 [0, inf]"),
        (Estimate(1.8, 1.2, math.inf, "at-least"), ">= 1.80"),
        (Estimate(0.3, 0.0, 0.4, "at-most"), "<= 0.30"),
        (Estimate(0.0, 0.0, math.inf, "undefined"), "n/a"),
    ],
)
def test_estimate(estimate: Estimate, text: str) -> None:
    assert estimate_text(estimate) == text


def test_an_interval_without_ends_is_left_out_where_it_is_short() -> None:
    assert short_estimate_text(Estimate(0.62, 0.0, math.inf)) == "0.62"
    assert short_estimate_text(Estimate(0.62, 0.51, math.inf)) == "0.62 [0.51, inf]"
    assert short_estimate_text(Estimate(1.8, 0.0, math.inf, "at-least")) == ">= 1.80"


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.62, 0.51, 0.88), "= 0.62 [0.51, 0.88]"),
        (Estimate(0.62, 0.51, 0.9004), "= 0.6200 [0.5100, 0.9004]"),
        (Estimate(1.8, 1.2, math.inf, "at-least"), ">= 1.80 [1.20, inf]"),
    ],
)
def test_a_statement_has_the_digits_that_tell_its_ends_from_the_limit(
    estimate: Estimate, text: str
) -> None:
    assert statement_text(estimate, 0.9) == text


@pytest.mark.parametrize(("limit", "text"), [(0.9, "0.90"), (0.985, "0.985")])
def test_a_limit_is_told_as_it_was_given(limit: float, text: str) -> None:
    assert limit_text(limit) == text


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(0, "run", "0 runs"), (1, "run", "1 run"), (10_000, "resample", "10,000 resamples")],
)
def test_counted(count: int, noun: str, text: str) -> None:
    assert counted(count, noun) == text


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0125, 6, "1.25%"),
        (0.999, 6, "99.9%"),
        (1.0, 2, "100%"),
        (0.9967, 2, "99.7%"),
        (0.99999, 2, "99.9%"),
        (0.000091, 2, "0.0091%"),
        (0.123456789, 12, "12.3456789%"),
    ],
)
def test_percent(share: float, digits: int, text: str) -> None:
    assert percent_text(share, digits) == text


def test_decisions() -> None:
    decided = {"phase": "explore", "shares": [0.9, 1], "etc": None}
    assert decisions_text(decided) == "phase=explore, shares=[0.9,1], etc=null"
    assert decisions_text({}) == ""


def test_a_long_decision_is_cut_and_leaves_the_next_one_whole() -> None:
    text = decisions_text({"scores": list(range(100)), "phase": "p" * 60, "a": "p" * 61})
    scores, phase, cut = text.split(", ")
    assert scores.endswith("...") and len(scores.removeprefix("scores=")) == 60
    assert phase == "phase=" + "p" * 60
    assert cut == "a=" + "p" * 57 + "..."
