"""How ratios read, in sentences and tables alike."""

from __future__ import annotations

import math
from typing import Final

from pytest_ansorbench.records import Estimate

DIGITS: Final = 2
"""Decimals of a ratio: seeds of one search differ by more than a hundredth."""

_MOST_DIGITS: Final = 7

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


def statement_text(estimate: Estimate, limit: float) -> str:
    """An estimate as the end of a clause, with its interval: `= 0.62 [0.51, 0.88]`, `>= 1.80 ...`.

    Args:
        estimate: The estimate.
        limit: What it is held against. It gets as few decimals as leave the ends of the interval
            on the side of the limit that they are on: a sentence must not call `[0.51, 0.90]`
            undecided at a limit of 0.90.
    """
    digits = _telling_digits(estimate, limit)
    sign = _SIGNS[estimate.bound] or "= "
    return f"{sign}{ratio_text(estimate.value, digits)} {interval_text(estimate, digits)}"


def limit_text(limit: float) -> str:
    """The limit as it was given: never rounded to something else."""
    return max(f"{limit:.{DIGITS}f}", repr(float(limit)), key=len)


def _telling_digits(estimate: Estimate, limit: float) -> int:
    ends = (estimate.low, estimate.high)
    for digits in range(DIGITS, _MOST_DIGITS):
        shown = [float(ratio_text(end, digits)) for end in ends]
        if all(
            (a < limit, a > limit) == (b < limit, b > limit)
            for a, b in zip(shown, ends, strict=True)
        ):
            return digits
    return _MOST_DIGITS
