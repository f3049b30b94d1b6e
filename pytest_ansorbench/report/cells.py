"""What a table holds, one kind a class: each knows how it reads, and what a program gets of it.

`str(cell)` is the cell without its unit, which the heading gives, and as it came: a renderer
escapes it. `fields()` are its values in full. The one under the empty name is what the cell mainly
says; others qualify it, e.g. `low` and `high`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, Literal

from pytest_ansorbench.records import Estimate, Outcome, SuiteVerdict
from pytest_ansorbench.report.wording import (
    estimate_text,
    percent_text,
    plain_text,
    ratio_text,
    setting_text,
    short_estimate_text,
    throughput_text,
    time_text,
)

TimeUnit = Literal["s", "ms", "us"]
PER_SECOND: Final[Mapping[TimeUnit, float]] = MappingProxyType({"s": 1.0, "ms": 1e3, "us": 1e6})
"""How many of each unit a second has, the largest unit first."""

Fields = Mapping[str, Any]


class Gap(Enum):
    """A cell without a value, and the reason."""

    UNKNOWN = "n/a"  # a figure could be expected, and there is none
    IRRELEVANT = "-"  # no figure belongs here
    EMPTY = ""  # a summary has nothing in this column

    def __str__(self) -> str:
        return self.value

    def fields(self) -> Fields:
        return {"": None}


@dataclass(frozen=True, slots=True)
class Text:
    """Words that may come from a file: ids, names, messages."""

    text: str

    def __str__(self) -> str:
        return self.text

    def fields(self) -> Fields:
        return {"": self.text}


@dataclass(frozen=True, slots=True)
class GateMark:
    """The outcome of a gate, or the worst outcome of several; formats may colour it."""

    outcome: Outcome

    def __str__(self) -> str:
        return self.outcome

    def fields(self) -> Fields:
        return {"": self.outcome}


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are, or the number of a task, a seed, a result."""

    count: int

    def __str__(self) -> str:
        return str(self.count)

    def fields(self) -> Fields:
        return {"": self.count}


@dataclass(frozen=True, slots=True)
class Part:
    """Some of all, e.g. failed trials of all trials: `3/12`."""

    part: int
    whole: int

    def __str__(self) -> str:
        return f"{self.part}/{self.whole}"

    def fields(self) -> Fields:
        return {"": self.part, "of": self.whole}


@dataclass(frozen=True, slots=True)
class Seconds:
    """A duration, told in its `unit`; infinity for never."""

    seconds: float
    unit: TimeUnit = "s"

    def __str__(self) -> str:
        return time_text(self.seconds * PER_SECOND[self.unit])

    def fields(self) -> Fields:
        return {"": finite(self.seconds * PER_SECOND[self.unit])}


@dataclass(frozen=True, slots=True)
class TimeToTarget:
    """Expected search time until a target is reached, and how many of all runs reached it."""

    seconds: float
    reached: int
    runs: int
    unit: TimeUnit = "s"

    def __str__(self) -> str:
        text = time_text(self.seconds * PER_SECOND[self.unit])
        return text if self.reached == self.runs else f"{text} ({self.reached}/{self.runs})"

    def fields(self) -> Fields:
        value = finite(self.seconds * PER_SECOND[self.unit])
        return {"": value, "reached": self.reached, "runs": self.runs}


@dataclass(frozen=True, slots=True)
class Number:
    """Any other figure, and how it reads."""

    value: float
    text: str

    @classmethod
    def of(cls, value: float, spec: str = ".4g") -> Number:
        """A figure in a format; infinity for never."""
        return cls(value, "never" if math.isinf(value) else plain_text(value, spec))

    def __str__(self) -> str:
        return self.text

    def fields(self) -> Fields:
        return {"": finite(self.value)}


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio between arms or results, with its interval; or a bound, or undefined."""

    estimate: Estimate

    def __str__(self) -> str:
        return estimate_text(self.estimate)

    def fields(self) -> Fields:
        estimate = self.estimate
        undefined = estimate.bound == "undefined"
        return {
            "": None if undefined else finite(estimate.value),
            "low": None if undefined else finite(estimate.low),
            "high": None if undefined else finite(estimate.high),
            "bound": estimate.bound,
        }


@dataclass(frozen=True, slots=True)
class BareRatio(Ratio):
    """A ratio without its interval."""

    def __str__(self) -> str:
        return short_estimate_text(replace(self.estimate, low=0.0, high=math.inf))

    def fields(self) -> Fields:
        whole = Ratio(self.estimate).fields()
        return {name: whole[name] for name in ("", "bound")}


@dataclass(frozen=True, slots=True)
class SuiteRatio:
    """A ratio over several cases, and how many of all it stands on."""

    estimate: Estimate
    included: int
    total: int

    @classmethod
    def of(cls, suite: SuiteVerdict, metric: str) -> SuiteRatio:
        figure, total = suite.figure(metric), len(suite.cases)
        return cls(figure.estimate, total - len(figure.lost), total)

    def __str__(self) -> str:
        counts = f" ({self.included} of {self.total})"
        return short_estimate_text(self.estimate) + (
            "" if self.included in (0, self.total) else counts
        )

    def fields(self) -> Fields:
        return {**Ratio(self.estimate).fields(), "cases": self.included, "of": self.total}


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of a setting or a fact on a machine: a JSON value."""

    value: Any

    def __str__(self) -> str:
        return setting_text(self.value)

    def fields(self) -> Fields:
        return {"": list(self.value) if isinstance(self.value, tuple) else self.value}


Cell = (
    Gap
    | Text
    | GateMark
    | Count
    | Part
    | Seconds
    | TimeToTarget
    | Number
    | Ratio
    | SuiteRatio
    | Setting
)
"""Any kind of cell. A renderer writes every one of them by `str` or `fields`."""


def mark(outcome: Outcome | None) -> Cell:
    """The outcome of gates, if there are any."""
    return Gap.IRRELEVANT if outcome is None else GateMark(outcome)


def known(value: float | None, write: Callable[[float], Cell]) -> Cell:
    """A figure that may be missing."""
    return Gap.UNKNOWN if value is None else write(value)


def throughput(gflops: float) -> Cell:
    """A throughput; 0 if there is none."""
    return Number(gflops, throughput_text(gflops)) if gflops else Gap.UNKNOWN


def percentage(share: float) -> Number:
    """A share, e.g. 0.25, told as a percentage in two significant digits."""
    return Number(share, percent_text(share, 2))


def plain_ratio(ratio: float) -> Number:
    """A ratio without an interval."""
    return Number(ratio, ratio_text(ratio))


REFERENCE: Final = Number(1.0, "1 (ref)")
"""The ratio of the reference to itself, with which the others are compared."""


def finite(value: float) -> float | str | None:
    """A number as JSON can hold it."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    return value
