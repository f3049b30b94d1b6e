"""What a landscape file holds; docs/landscapes.md describes it field by field."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from pytest_ansorbench.codec import to_json
from pytest_ansorbench.records import MachinePeak, TaskRecord, TrialStatus
from pytest_ansorbench.records.checks import check, check_samples, check_seconds
from pytest_ansorbench.strategies.decisions.footprints import Footprints
from pytest_ansorbench.strategies.decisions.knobs import (
    INLINED,
    Knob,
    LocationKnob,
    TileKnob,
    ValueKnob,
)
from pytest_ansorbench.strategies.decisions.registers import Registers
from pytest_ansorbench.strategies.decisions.space import DecisionSpace

LANDSCAPE_VERSION: Final = 1
T4_VERSION: Final = "1.0.0"
"""Of the schema of results that Kernel Tuner writes, T4, whose fields these are."""
MOST_POINTS: Final = 100_000

Invalidity = Literal["correct", "compile", "runtime", "timeout", "correctness", "constraints"]
_STATUS: Final[Mapping[str, TrialStatus]] = {
    "correct": "ok",
    "compile": "build-error",
    "runtime": "run-error",
    "correctness": "wrong-result",
}
_INVALIDITY: Final[Mapping[TrialStatus, Invalidity]] = {
    **{status: invalidity for invalidity, status in _STATUS.items()},  # type: ignore[misc]
    "build-timeout": "timeout",
    "run-timeout": "timeout",
}


@dataclass(frozen=True, slots=True)
class KnobRecord:
    """An open decision and its choices, as TVM takes them."""

    kind: Literal["tile", "value", "location"]
    choices: tuple[Any, ...]
    values: tuple[float, ...]  # what the choices of a `value` mean; none for other kinds

    def __post_init__(self) -> None:
        fits = bool(self.choices) and _FIT[self.kind](self.choices)
        once = len({json.dumps(one) for one in self.choices}) == len(self.choices)
        check(fits and once, "choices", self.choices, f"different choices of a {self.kind}")
        fits = len(self.values) == (len(self.choices) if self.kind == "value" else 0)
        check(fits and all(map(math.isfinite, self.values)), "values", self.values, "one a choice")

    @classmethod
    def of(cls, knob: Knob) -> KnobRecord:
        choices = tuple(map(knob.decision, range(knob.size)))
        if isinstance(knob, ValueKnob):
            return cls("value", choices, knob.values)
        return cls("tile" if isinstance(knob, TileKnob) else "location", choices, ())

    @property
    def knob(self) -> Knob:
        """What it is a record of."""
        if self.kind == "value":
            return ValueKnob(self.values, self.choices)
        if self.kind == "location":
            return LocationKnob(self.choices)
        return TileKnob([tuple(tiles) for tiles in self.choices])


def _are_tilings(choices: tuple[Any, ...]) -> bool:
    shapes = {
        (len(one), math.prod(one))
        for one in choices
        if isinstance(one, list) and one and all(type(size) is int and size >= 1 for size in one)
    }
    return len(shapes) == 1 and all(isinstance(one, list) for one in choices)


_FIT: Final[Mapping[str, Callable[[tuple[Any, ...]], bool]]] = {
    "tile": _are_tilings,
    "value": lambda choices: all(type(one) is int and one >= 0 for one in choices),
    "location": lambda choices: (
        all(type(one) is int and one >= INLINED for one in choices)
        and [*choices] == sorted(choices)
    ),
}


@dataclass(frozen=True, slots=True)
class SketchRecord:
    """The part of a sketch's decisions that was measured: each choice with each other."""

    knobs: tuple[KnobRecord, ...]
    footprints: tuple[Footprints, ...]

    def __post_init__(self) -> None:
        for one in self.footprints:
            for loop in one.loops:
                if loop.knob is None:
                    continue
                known = 0 <= loop.knob < len(self.knobs)
                tiles = self.knobs[loop.knob].choices[0] if known else None
                fits = isinstance(tiles, list) and len(tiles) == loop.parts
                check(fits, "footprints", loop, "loops tiled by a knob of the sketch")

    @classmethod
    def of(cls, space: DecisionSpace) -> SketchRecord:
        return cls(tuple(map(KnobRecord.of, space.knobs)), space.footprints)

    def space(self, index: int) -> DecisionSpace:
        """It as the space of the `index`th sketch."""
        return DecisionSpace(index, [one.knob for one in self.knobs], self.footprints)

    @property
    def size(self) -> int:
        return math.prod(len(one.choices) for one in self.knobs)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a landscape is of, and how it is measured: all but the measurements."""

    license: str
    created: str
    case: str
    version: str
    definition: Mapping[str, Any] | None
    task: TaskRecord
    program: str
    machine: Mapping[str, Any]
    peak: MachinePeak | None
    registers: Registers | None
    conditions: Mapping[str, Any]
    sketches: tuple[SketchRecord, ...]

    def __post_init__(self) -> None:
        fits = 1 <= len(self.sketches) == len(self.task.sketches)
        check(fits, "sketches", self.task.sketches, "one for each sketch of the task")
        expected = f"at most {MOST_POINTS} points"
        check(self.size <= MOST_POINTS, "sketches", self.size, expected)

    @property
    def size(self) -> int:
        """How many points there are."""
        return sum(one.size for one in self.sketches)

    @property
    def spaces(self) -> list[DecisionSpace]:
        """The sub-space of each sketch."""
        return [one.space(at) for at, one in enumerate(self.sketches)]

    @property
    def space_hash(self) -> str:
        """Of the program and the choices."""
        sketches = [to_json(one) for one in self.sketches]
        return digest([self.case, self.version, [*self.task.sketches], sketches])


@dataclass(frozen=True, slots=True)
class Configuration:
    """A point: a sketch, and what is decided of it."""

    sketch: int
    decisions: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds."""

    compilation_time: float
    benchmark_time: float
    runtimes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PointRecord:
    """What was measured of a point."""

    configuration: Configuration
    times: Times
    invalidity: Invalidity
    correctness: float
    program: str
    error: str

    def __post_init__(self) -> None:
        check_seconds(self.times, "compilation_time", "benchmark_time")
        check_samples(self.status or "constraints", self.times.runtimes, "times.runtimes")
        correct = float(self.invalidity == "correct")
        check(self.correctness == correct, "correctness", self.correctness, f"{correct:g}")
        is_hash = len(self.program) == 16 and not set(self.program) - set("0123456789abcdef")
        fits = is_hash if self.status else not self.program
        check(fits, "program", self.program, "16 hexadecimal digits, none without a program")

    @classmethod
    def measured(
        cls,
        configuration: Configuration,
        program: str,
        status: TrialStatus,
        times: Times,
        error: str,
    ) -> PointRecord:
        invalidity = _INVALIDITY[status]
        correct = float(invalidity == "correct")
        return cls(configuration, times, invalidity, correct, program, error)

    @classmethod
    def no_program(cls, configuration: Configuration) -> PointRecord:
        error = "its decisions or a postprocessor do not apply"
        return cls(configuration, Times(0.0, 0.0, ()), "constraints", 0.0, "", error)

    @property
    def status(self) -> TrialStatus | None:
        """What a search that measures it sees; None if it is no program."""
        if self.invalidity == "timeout":
            return "run-timeout" if self.times.benchmark_time else "build-timeout"
        return _STATUS.get(self.invalidity)

    @property
    def latency_s(self) -> float:
        """Of its program, by the median slice; infinity if that was not measured."""
        return statistics.median(self.times.runtimes) if self.times.runtimes else math.inf


@dataclass(frozen=True)
class Landscape:
    """A sub-space, every point of it measured."""

    schema_version: str
    landscape_version: int
    subject: Subject
    builds_at_once: float
    space_hash: str
    programs_hash: str
    results: tuple[PointRecord, ...]

    def __post_init__(self) -> None:
        fits = 0.0 < self.builds_at_once <= MOST_POINTS
        check(fits, "builds_at_once", self.builds_at_once, "a number above 0, e.g. 1.9")
        size = self.subject.size
        found, expected = len(self.results), f"one for each of its {size} points"
        check(found == size, "results", f"{found} results", expected)
        for at, (configuration, one) in enumerate(
            zip(configurations(self.subject), self.results, strict=True)
        ):
            fits = one.configuration == configuration
            where, expected = f"results[{at}].configuration", f"{configuration}, as in its space"
            check(fits, where, one.configuration, expected)

    @classmethod
    def of(
        cls, subject: Subject, results: tuple[PointRecord, ...], builds_at_once: float
    ) -> Landscape:
        return cls(
            T4_VERSION,
            LANDSCAPE_VERSION,
            subject,
            builds_at_once,
            subject.space_hash,
            programs_hash(results),
            results,
        )

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that no other landscape has."""
        return digest(to_json(self))[:12]


def configurations(subject: Subject) -> list[Configuration]:
    """All points: sketch by sketch, the last decision changing fastest."""
    return [
        Configuration(space.index, tuple(space.decisions_of(tuple(vector))))
        for space in subject.spaces
        for vector in space.every().tolist()
    ]


def programs_hash(results: tuple[PointRecord, ...]) -> str:
    """Of all programs, in order."""
    return digest([one.program for one in results])


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
