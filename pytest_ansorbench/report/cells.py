"""The facts that a report tells, one kind a class, before any of them is text.

Builders make cells and renderers write them. A cell holds a value in the unit that its field
names, which is also the unit that a heading or the words around it give. A renderer writes a cell
in the same way wherever it stands, without the unit.

`UNIT` of a class is that unit, for the headings of columns: empty for words, counts and ratios.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

from pytest_ansorbench.records import Estimate, Outcome


@dataclass(frozen=True, slots=True)
class Decimals:
    """A figure is told in this many decimals."""

    digits: int


@dataclass(frozen=True, slots=True)
class Significant:
    """A figure is told in this many significant digits."""

    digits: int


Precision = Decimals | Significant
"""How exactly a figure is known or worth telling; where it is None, its size decides."""


class Gap(Enum):
    """A cell without a value, and the reason."""

    UNKNOWN = auto()  # a figure could be expected, and there is none
    IRRELEVANT = auto()  # no figure belongs here
    EMPTY = auto()  # a summary has nothing in this column


@dataclass(frozen=True, slots=True)
class Text:
    """Words that may come from a file: ids, names, messages. Renderers make them harmless."""

    UNIT: ClassVar = ""

    text: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What a gate, or the worst of several, came to."""

    UNIT: ClassVar = ""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Index:
    """A number that names something: a task, a seed, a round."""

    UNIT: ClassVar = ""

    index: int


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are."""

    UNIT: ClassVar = ""

    count: int


@dataclass(frozen=True, slots=True)
class Counted:
    """How many there are, with the noun, e.g. `1 run`, `5 runs`; for sentences.

    Attributes:
        count: How many.
        noun: Its singular; the plural takes an `s`.
    """

    UNIT: ClassVar = ""

    count: int
    noun: str


@dataclass(frozen=True, slots=True)
class Part:
    """Some of all, e.g. failed trials of all trials: `3/12`."""

    UNIT: ClassVar = ""

    part: int
    whole: int


@dataclass(frozen=True, slots=True)
class Seconds:
    """A duration; infinity for never."""

    UNIT: ClassVar = "s"

    seconds: float
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class TimeToTarget:
    """Expected search time until a target is reached.

    Attributes:
        seconds: The time; infinity for never.
        reached: Runs that reached the target.
        runs: All runs.
    """

    UNIT: ClassVar = "s"

    seconds: float
    reached: int
    runs: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Time of one execution of a kernel or a network."""

    UNIT: ClassVar = "ms"

    latency_ms: float
    precision: Precision


@dataclass(frozen=True, slots=True)
class Throughput:
    """10^9 floating-point operations a second."""

    UNIT: ClassVar = "GFLOP/s"

    throughput_gflops: float
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """10^6 floating-point operations."""

    UNIT: ClassVar = "MFLOP"

    work_mflop: float
    precision: Precision


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process."""

    UNIT: ClassVar = "MB"

    memory_mb: float


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores' worth of time."""

    UNIT: ClassVar = "cores"

    cores: float


@dataclass(frozen=True, slots=True)
class Percentage:
    """A share, e.g. 0.25, told as a percentage. Without a precision it is told as it was given."""

    UNIT: ClassVar = ""

    share: float
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class Deviation:
    """By what share one figure is off another, with its sign, e.g. -0.27; as a percentage."""

    UNIT: ClassVar = ""

    share: float


@dataclass(frozen=True, slots=True)
class Score:
    """A cost model's score, or a throughput over the best: around 1."""

    UNIT: ClassVar = ""

    score: float
    precision: Precision


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """A difference of two scores, with its sign."""

    UNIT: ClassVar = ""

    change: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio between arms or results, with its interval; or a bound, or undefined."""

    UNIT: ClassVar = ""

    estimate: Estimate


@dataclass(frozen=True, slots=True)
class ReferenceRatio:
    """The ratio of the reference to itself: 1, because it is what the others are held against."""

    UNIT: ClassVar = ""


@dataclass(frozen=True, slots=True)
class Mean:
    """The geometric mean of a ratio over the cases that have a plain figure.

    Attributes:
        value: The mean; None if no case has one.
        included: Cases that have one.
        total: All cases.
    """

    UNIT: ClassVar = ""

    value: float | None
    included: int
    total: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that results are compared by, in the unit of its metric.

    Attributes:
        metric: Its key in `stats.figures.FIGURES`.
        value: The figure; infinity for never.
    """

    UNIT: ClassVar = ""

    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes of a program's arguments; that of a scalar is empty."""

    UNIT: ClassVar = ""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a strategy's policies reported of a round: JSON values by name."""

    UNIT: ClassVar = ""

    values: Mapping[str, Any]


Cell = (
    Gap
    | Text
    | Judged
    | Index
    | Count
    | Counted
    | Part
    | Seconds
    | TimeToTarget
    | Latency
    | Throughput
    | Work
    | Memory
    | Cores
    | Percentage
    | Deviation
    | Score
    | ScoreChange
    | Ratio
    | ReferenceRatio
    | Mean
    | Figure
    | Shapes
    | Decisions
)
"""Any kind of cell. A renderer writes every one of them."""
