"""Every kind of cell as plain values, for formats that programs read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.report.cells import (
    PER_SECOND,
    Cell,
    CodeSize,
    Cores,
    Count,
    Counted,
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
    Setting,
    Shapes,
    Statement,
    SuiteRatio,
    Text,
    Throughput,
    TimeToTarget,
    Work,
)

Scalar = str | int | float | bool | None
"""What a field holds; infinity is `"inf"`, for JSON has none."""


def cell_fields(cell: Cell) -> Mapping[str, Any]:
    """The values of a cell, undigested and in the unit of its heading.

    Returns:
        Values by name. The one under the empty name is what the cell mainly says, None for a gap;
        others qualify it, e.g. `low` and `high`.
    """
    match cell:
        case Gap():
            return {"": None}
        case Text(text):
            return {"": text}
        case GateMark(value) | Index(value) | Count(value):
            return {"": value}
        case Counted(value, noun):
            return {"": value, "noun": noun}
        case Part(value, whole):
            return {"": value, "of": whole}
        case TimeToTarget(seconds, reached, runs, unit):
            return {"": number(seconds * PER_SECOND[unit]), "reached": reached, "runs": runs}
        case Seconds(seconds, _, unit):
            return {"": number(seconds * PER_SECOND[unit])}
        case Latency(value) | Throughput(value) | Work(value):
            return {"": number(value)}
        case Memory(value) | Cores(value) | Percentage(value) | Deviation(value):
            return {"": number(value)}
        case Score(value) | ScoreChange(value) | Limit(value) | PlainRatio(value):
            return {"": number(value)}
        case Figure(_, value):
            return {"": number(value)}
        case CodeSize(code_bytes):
            return {"": code_bytes / 1e3}
        case ReferenceRatio():
            return {"": 1.0}
        case Ratio(estimate):
            return _estimate(estimate)
        case Statement(estimate, limit):
            return {**_estimate(estimate), "limit": limit}
        case SuiteRatio(estimate, included, total):
            return {**_estimate(estimate), "cases": included, "of": total}
        case Shapes(inputs, output):
            return {"": [*map(list, inputs)], "output": list(output)}
        case Setting(value):
            return {"": list(value) if isinstance(value, tuple) else value}
        case Decisions(values):
            return {"": dict(values)}


def number(value: float) -> Scalar:
    """A number as JSON can hold it."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    return value


def _estimate(estimate: Estimate) -> dict[str, Any]:
    """None where nothing could be compared; the bound says so."""
    undefined = estimate.bound == "undefined"
    return {
        "": None if undefined else number(estimate.value),
        "low": None if undefined else number(estimate.low),
        "high": None if undefined else number(estimate.high),
        "bound": estimate.bound,
    }
