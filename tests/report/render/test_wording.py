"""How figures read."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.render.wording import estimate_text, ratio_text


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
