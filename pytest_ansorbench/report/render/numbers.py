"""Every kind of cell as text: the one place that decides how many digits a figure is shown in."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from pytest_ansorbench.report.cells import (
    PER_SECOND,
    Cell,
    CodeSize,
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
    Precision,
    Ratio,
    ReferenceRatio,
    Score,
    ScoreChange,
    Seconds,
    Setting,
    Shapes,
    Significant,
    Statement,
    SuiteRatio,
    Text,
    Throughput,
    TimeToTarget,
    Work,
)
from pytest_ansorbench.report.render.wording import (
    estimate_text,
    limit_text,
    ratio_text,
    statement_text,
)

_LONGEST_VALUE: Final = 60
_GAPS: Final = {Gap.UNKNOWN: "n/a", Gap.IRRELEVANT: "-", Gap.EMPTY: ""}


def cell_text(cell: Cell) -> str:
    """Write a cell, without its unit and as it came: a renderer has to escape it.

    Returns:
        Usually a single line; as many as a file put into a `Text` or a `Decisions`.
    """
    match cell:
        case Gap():
            return _GAPS[cell]
        case Text(text):
            return text
        case GateMark(outcome):
            return outcome
        case Index(number) | Count(number):
            return str(number)
        case Counted(count, noun):
            return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
        case Part(part, whole):
            return f"{part}/{whole}"
        case Seconds(seconds, precision, unit):
            return _time(seconds * PER_SECOND[unit], precision)
        case TimeToTarget(seconds, reached, runs, unit):
            text = _time(seconds * PER_SECOND[unit], None)
            return text if reached == runs else f"{text} ({reached}/{runs})"
        case Latency(value, precision) | Work(value, precision) | Score(value, precision):
            return _number(value, precision)
        case Throughput(gflops, precision):
            return _throughput(gflops, precision)
        case Memory(megabytes, precision):
            return _number(megabytes, precision)
        case CodeSize(code_bytes):
            return f"{code_bytes / 1e3:.1f}"
        case Cores(cores):
            return f"{cores:.1f}"
        case Percentage(share, precision):
            return _percentage(share, precision)
        case Deviation(share):
            return f"{100 * share:+.1f}%"
        case ScoreChange(change):
            return f"{change:+.3f}"
        case Ratio(estimate):
            return estimate_text(estimate)
        case Statement(estimate, limit):
            return statement_text(estimate, limit)
        case Limit(limit):
            return limit_text(limit)
        case PlainRatio(ratio):
            return ratio_text(ratio)
        case ReferenceRatio():
            return "1 (ref)"
        case SuiteRatio(estimate, included, total):
            counts = "" if included in (0, total) else f" ({included} of {total})"
            endless = estimate.low == 0.0 and estimate.high == math.inf
            plain = estimate.bound == "value" and endless
            return (ratio_text(estimate.value) if plain else estimate_text(estimate)) + counts
        case Figure(_, value):
            return "never" if math.isinf(value) else f"{value:.4g}"
        case Shapes(inputs, output):
            return f"{', '.join(map(_shape, inputs))} -> {_shape(output)}"
        case Setting(value):
            return _setting(value)
        case Decisions(values):
            return ", ".join(f"{key}={_json(value)}" for key, value in values.items())


def _number(value: float, precision: Precision) -> str:
    match precision:
        case Decimals(digits):
            return f"{value:.{digits}f}"
        case Significant(digits):
            return f"{value:.{digits}g}"


def _time(value: float, precision: Precision | None) -> str:
    if math.isinf(value):
        return "never"
    return _number(value, precision or Decimals(1 if value >= 10 else 2))


def _throughput(gflops: float, precision: Precision | None) -> str:
    """In about three digits, unless it is told in others."""
    if precision is None and gflops < 0.1:
        precision = Significant(2)
    elif precision is None:
        precision = Decimals(2 if gflops < 10 else 1 if gflops < 100 else 0)
    return _number(gflops, precision)


def _percentage(share: float, precision: Precision | None) -> str:
    """Never with an exponent, as 100 would have in two significant digits."""
    percent = 100 * share
    match precision:
        case None:
            return f"{percent:g}%"
        case Decimals(digits):
            return f"{percent:.{digits}f}%"
        case Significant(digits):
            return f"{float(f'{percent:.{digits}g}'):.{max(digits, 6)}g}%"


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value))
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _json(value: Any) -> str:
    """A JSON value in little space, cut short where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
