"""How figures read, in sentences and tables alike: the one place that decides on digits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from pytest_ansorbench.records import Estimate

DIGITS: Final = 2
"""Decimals of a ratio: seeds of one search differ by more than a hundredth."""

_MOST_DIGITS: Final = 7
_LONGEST_VALUE: Final = 60
_SIGNS: Final = {"value": "", "at-least": ">= ", "at-most": "<= "}


def counted(count: int, noun: str) -> str:
    """`1 run`, `5 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plain_text(figure: float, spec: str = ".4g") -> str:
    """A figure in a format; a large one whole, not with an exponent."""
    text = format(figure, spec)
    return f"{figure:.0f}" if "e+" in text else text


def time_text(time: float) -> str:
    """A time in any unit."""
    if math.isinf(time):
        return "never"
    return f"{time:.{1 if time >= 10 else 2}f}"


def throughput_text(gflops: float) -> str:
    """A throughput in about three digits."""
    if gflops < 0.1:
        return f"{gflops:.2g}"
    return f"{gflops:.{2 if gflops < 10 else 1 if gflops < 100 else 0}f}"


def percent_text(share: float, digits: int = 6) -> str:
    """A share as a percentage in some significant digits.

    Never with an exponent, as 100 would have in two; and all is told of nothing less.
    """
    percent = float(f"{100 * share:.{digits}g}")
    if percent == 100.0 and share < 1.0:
        percent = min(float(f"{100 * share:.3g}"), 99.9)
    return f"{percent:.{max(digits, 6)}g}%"


def ratio_text(value: float, digits: int = DIGITS) -> str:
    """A ratio in `digits` decimals, or in two significant digits if it is below 0.1."""
    if value == 0.0 or math.isinf(value):
        return f"{value:g}"
    if value < 0.1:
        return f"{value:.{digits}g}"
    return f"{value:.{digits if value < 1000 else 0}f}"


def estimate_text(estimate: Estimate) -> str:
    """An estimate in few characters: `0.62 [0.51, 0.88]`, a bound `>= 1.80`, else `n/a`."""
    if estimate.bound == "undefined":
        return "n/a"
    figure = _SIGNS[estimate.bound] + ratio_text(estimate.value)
    return f"{figure} {_interval(estimate, DIGITS)}" if estimate.bound == "value" else figure


def short_estimate_text(estimate: Estimate) -> str:
    """The same, but without an interval that too few repeats have left without ends."""
    if estimate.bound == "value" and estimate.endless:
        return ratio_text(estimate.value)
    return estimate_text(estimate)


def statement_text(estimate: Estimate, limit: float) -> str:
    """An estimate as the end of a clause, with its interval: `= 0.62 [0.51, 0.88]`, `>= 1.80 ...`.

    It gets as few decimals as leave the ends of the interval on the side of the limit that they
    are on: a sentence must not call `[0.51, 0.90]` undecided at a limit of 0.90.
    """
    digits = _telling_digits(estimate, limit)
    sign = _SIGNS[estimate.bound] or "= "
    return f"{sign}{ratio_text(estimate.value, digits)} {_interval(estimate, digits)}"


def limit_text(limit: float) -> str:
    """The limit as it was given: never rounded to something else."""
    return max(f"{limit:.{DIGITS}f}", repr(float(limit)), key=len)


def setting_text(value: Any) -> str:
    """The value of a setting: a JSON value, or several."""
    if isinstance(value, list | tuple):
        return ", ".join(map(setting_text, value))
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def decisions_text(values: Mapping[str, Any]) -> str:
    """Decisions that a strategy's policies reported: JSON values by name, cut short if long."""
    return ", ".join(f"{key}={_brief(value)}" for key, value in values.items())


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _interval(estimate: Estimate, digits: int) -> str:
    return f"[{ratio_text(estimate.low, digits)}, {ratio_text(estimate.high, digits)}]"


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
