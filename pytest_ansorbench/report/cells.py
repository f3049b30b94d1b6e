"""The facts that a report tells, one kind a class, before any of them is text.

Builders make cells and renderers write them. A cell holds a value in the unit that its field
names, which is also the unit that a heading or the words around it give. A renderer writes a cell
in the same way wherever it stands, without the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

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


TimeUnit = Literal["s", "ms", "us"]
PER_SECOND: Final[Mapping[TimeUnit, float]] = MappingProxyType({"s": 1.0, "ms": 1e3, "us": 1e6})
"""How many of each unit a second has, the largest unit first."""


class Gap(Enum):
    """A cell without a value, and the reason."""

    UNKNOWN = auto()  # a figure could be expected, and there is none
    IRRELEVANT = auto()  # no figure belongs here
    EMPTY = auto()  # a summary has nothing in this column


class Value:
    """A cell with a value.

    Attributes:
        UNIT: The unit of the value, for headings; empty for words, counts and ratios.
    """

    __slots__ = ()

    UNIT: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Text(Value):
    """Words that may come from a file: ids, names, messages. Renderers make them harmless."""

    text: str


@dataclass(frozen=True, slots=True)
class GateMark(Value):
    """The outcome of a gate, or the worst outcome of several."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Index(Value):
    """A number that names something: a task, a seed, a round."""

    index: int


@dataclass(frozen=True, slots=True)
class Count(Value):
    """How many there are."""

    count: int


@dataclass(frozen=True, slots=True)
class Counted(Value):
    """How many there are, with the noun, e.g. `1 run`, `5 runs`; for sentences.

    Attributes:
        count: How many.
        noun: Its singular; the plural takes an `s`.
    """

    count: int
    noun: str


@dataclass(frozen=True, slots=True)
class Part(Value):
    """Some of all, e.g. failed trials of all trials: `3/12`."""

    part: int
    whole: int


@dataclass(frozen=True, slots=True)
class Seconds(Value):
    """A duration; infinity for never. It is told in its `unit`."""

    UNIT: ClassVar[TimeUnit] = "s"

    seconds: float
    precision: Precision | None = None
    unit: TimeUnit = "s"


@dataclass(frozen=True, slots=True)
class TimeToTarget(Value):
    """Expected search time until a target is reached.

    Attributes:
        seconds: The time; infinity for never.
        reached: Runs that reached the target.
        runs: All runs.
        unit: What it is told in.
    """

    UNIT: ClassVar[TimeUnit] = "s"

    seconds: float
    reached: int
    runs: int
    unit: TimeUnit = "s"


@dataclass(frozen=True, slots=True)
class Latency(Value):
    """Time of one execution of a kernel or a network."""

    UNIT: ClassVar = "ms"

    latency_ms: float
    precision: Precision


@dataclass(frozen=True, slots=True)
class Throughput(Value):
    """10^9 floating-point operations a second."""

    UNIT: ClassVar = "GFLOP/s"

    throughput_gflops: float
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class Work(Value):
    """10^6 floating-point operations."""

    UNIT: ClassVar = "MFLOP"

    work_mflop: float
    precision: Precision


@dataclass(frozen=True, slots=True)
class Memory(Value):
    """Memory of a process, or size of data."""

    UNIT: ClassVar = "MB"

    memory_mb: float
    precision: Precision = Decimals(0)


@dataclass(frozen=True, slots=True)
class CodeSize(Value):
    """Size of machine code."""

    UNIT: ClassVar = "kB"

    code_bytes: int


@dataclass(frozen=True, slots=True)
class Cores(Value):
    """Cores' worth of time."""

    UNIT: ClassVar = "cores"

    cores: float


@dataclass(frozen=True, slots=True)
class Percentage(Value):
    """A share, e.g. 0.25, told as a percentage. Without a precision it is told as it was given."""

    share: float
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class Deviation(Value):
    """By what share one figure is off another, with its sign, e.g. -0.27; as a percentage."""

    share: float


@dataclass(frozen=True, slots=True)
class Score(Value):
    """A cost model's score, or a throughput over the best: around 1."""

    score: float
    precision: Precision


@dataclass(frozen=True, slots=True)
class ScoreChange(Value):
    """A difference of two scores, with its sign."""

    change: float


@dataclass(frozen=True, slots=True)
class Ratio(Value):
    """A ratio between arms or results, with its interval; or a bound, or undefined."""

    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Statement(Value):
    """A ratio with its interval as the end of a clause on how it stands to a limit.

    Attributes:
        estimate: The ratio, or a bound.
        limit: The limit, from which the ends of the interval have to be told.
    """

    estimate: Estimate
    limit: float


@dataclass(frozen=True, slots=True)
class Limit(Value):
    """The limit of a gate, as it was given."""

    limit: float


@dataclass(frozen=True, slots=True)
class PlainRatio(Value):
    """A ratio without an interval."""

    ratio: float


@dataclass(frozen=True, slots=True)
class ReferenceRatio(Value):
    """The ratio of the reference to itself: 1, because it is what the others are held against."""


@dataclass(frozen=True, slots=True)
class SuiteRatio(Value):
    """A ratio over several cases, with its interval if it has one.

    Attributes:
        estimate: The ratio.
        included: Cases that it stands on.
        total: All cases.
    """

    estimate: Estimate
    included: int
    total: int


@dataclass(frozen=True, slots=True)
class Figure(Value):
    """A figure that results are compared by, in the unit of its metric.

    Attributes:
        metric: Its key in `stats.figures.FIGURES`.
        value: The figure; infinity for never.
    """

    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class Shapes(Value):
    """Shapes of a program's arguments; that of a scalar is empty."""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Setting(Value):
    """The value of a setting or a fact on a machine: a JSON value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Decisions(Value):
    """Decisions that a strategy's policies reported of a round: JSON values by name."""

    values: Mapping[str, Any]


Cell = (
    Gap
    | Text
    | GateMark
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
    | CodeSize
    | Cores
    | Percentage
    | Deviation
    | Score
    | ScoreChange
    | Ratio
    | Statement
    | Limit
    | PlainRatio
    | ReferenceRatio
    | SuiteRatio
    | Figure
    | Shapes
    | Setting
    | Decisions
)
"""Any kind of cell. A renderer writes every one of them."""
