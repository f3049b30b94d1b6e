"""How figures read, in sentences and tables alike."""

from __future__ import annotations

import math
from typing import Final

from pytest_ansorbench.records import Estimate

DIGITS: Final = 2
"""Decimals of a ratio: seeds of one search differ by more than a hundredth."""

_SIGNS: Final = {"value": "", "at-least": ">= ", "at-most": "<= "}


def ratio_text(value: float, digits: int = DIGITS) -> str:
    """A ratio in `digits` decimals, or in two significant digits if it is below 0.1."""
    if value == 0.0 or math.isinf(value):
        return f"{value:g}"
    if value < 0.1:
        return f"{value:.{digits}g}"
    return f"{value:.{digits if value < 1000 else 0}f}"


def interval_text(estimate: Estimate, digits: int = DIGITS) -> str:
    """The interval, e.g. `[0.51, 0.88]`."""
    return f"[{ratio_text(estimate.low, digits)}, {ratio_text(estimate.high, digits)}]"


def estimate_text(estimate: Estimate, digits: int = DIGITS) -> str:
    """An estimate in few characters: `0.62 [0.51, 0.88]`, a bound `>= 1.80`, else `n/a`."""
    if estimate.bound == "undefined":
        return "n/a"
    figure = _SIGNS[estimate.bound] + ratio_text(estimate.value, digits)
    return f"{figure} {interval_text(estimate, digits)}" if estimate.bound == "value" else figure


def statement(name: str, estimate: Estimate, digits: int = DIGITS) -> str:
    """An estimate as a clause with its interval, e.g. `S >= 1.80 [1.21, inf]`."""
    sign = _SIGNS[estimate.bound] or "= "
    figure = ratio_text(estimate.value, digits)
    return f"{name} {sign}{figure} {interval_text(estimate, digits)}"


def percent(share: float) -> str:
    """A share as a percentage of two significant digits, e.g. `2.1%`, `0.0091%`."""
    return f"{float(f'{100.0 * share:.2g}'):g}%"


def repeats_text(repeats: int) -> str:
    """A number of repeats in words: `1 repeat`, `5 repeats`."""
    return "1 repeat" if repeats == 1 else f"{repeats} repeats"
