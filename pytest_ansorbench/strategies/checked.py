"""A strategy's policies at work: their answers are checked, and their errors say what they did.

A search talks to the policies of a strategy through this module only. A wrong answer would
otherwise surface as an error deep in NumPy or TVM, far from the code that gave it; each check takes
the method that was asked, so that its error can point there. An error that leaves a policy's own
code keeps its type and gets a note that names the strategy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from reprlib import repr as short
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from pytest_ansorbench.codec import json_value
from pytest_ansorbench.measure.policy import ComparingMeasurement, Measurement, Stopwatch
from pytest_ansorbench.records import RecordError
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.errors import BadAnswer
from pytest_ansorbench.strategies.proposer import Observation, PointSetup, Proposer, Setup
from pytest_ansorbench.strategies.rule_policy import BY_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.runner import RunnerResult
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator
    from tvm.target import Target

    from pytest_ansorbench.strategies.strategy import Strategy

_Method = Callable[..., Any]
_Live = TypeVar("_Live")

_PROPOSER: Final = ("propose", "learn", "recall", "decisions")
_COST_MODEL: Final = ("predict", "update")
# How far shares may be off a sum of 1.
_ROUNDING: Final = 1e-6


@contextmanager
def _noting(circumstance: str) -> Iterator[None]:
    """Add a note (PEP 678) to any error that leaves the block, e.g. `while starting ...`."""
    try:
        yield
    except Exception as error:
        # Before Python 3.11 exceptions have no `add_note`.
        vars(error).setdefault("__notes__", []).append(circumstance)
        raise


class CheckedProposer:
    """A strategy's proposer for one task of one run; itself a `Proposer`.

    Without programs its candidates are records of some.
    """

    def __init__(
        self, strategy: Strategy, setup: Setup | PointSetup, *, programs: bool = True
    ) -> None:
        self._name = strategy.name
        self._programs = programs
        start: Callable[[Any], Proposer] = strategy.proposer.start
        with _noting(f"while starting strategy {self._name!r}"):
            self.proposer = checked_start(start, start(setup), _PROPOSER)

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        with _noting(f"while asking strategy {self._name!r} for candidates"):
            proposed = self.proposer.propose(trials)
            return checked_proposal(
                self._name, self.proposer.propose, proposed, programs=self._programs
            )

    def learn(self, batch: Sequence[Observation]) -> None:
        with _noting(f"while telling strategy {self._name!r} what was measured"):
            self.proposer.learn(batch)

    def recall(self, candidates: Sequence[Candidate]) -> None:
        with _noting(f"while telling strategy {self._name!r} what it had proposed before"):
            self.proposer.recall(candidates)

    def decisions(self) -> Mapping[str, Any]:
        with _noting(f"while asking strategy {self._name!r} for its decisions"):
            return checked_decisions(self.proposer.decisions, self.proposer.decisions())


class CheckedMeasurement:
    """A strategy's measurement policy; itself a `Measurement`."""

    def __init__(self, strategy: Strategy) -> None:
        self._name = strategy.name
        self._policy: Any = strategy.measurement

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        with _noting(f"while strategy {self._name!r} measured a candidate"):
            samples = self._policy.measure(kernel, best_s)
            return checked_latencies(self._policy.measure, samples)


class CheckedComparison(CheckedMeasurement):
    """A strategy's measurement policy that compares; itself a `ComparingMeasurement`."""

    def compare(self, kernel: Stopwatch, incumbent: Stopwatch, best_s: float) -> tuple[float, ...]:
        with _noting(f"while strategy {self._name!r} compared a candidate"):
            samples = self._policy.compare(kernel, incumbent, best_s)
            return checked_latencies(self._policy.compare, samples)


def checked_measurement(strategy: Strategy) -> Measurement:
    """A strategy's measurement policy, which compares if the strategy's own does."""
    compares = isinstance(strategy.measurement, ComparingMeasurement)
    return CheckedComparison(strategy) if compares else CheckedMeasurement(strategy)


def start_space(strategy: Strategy, target: Target) -> SpaceGenerator:
    """A strategy's design space for one task of one run."""
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator

    with _noting(f"while starting the design space of strategy {strategy.name!r}"):
        space = strategy.space.start(target)
        if not isinstance(space, SpaceGenerator):
            raise BadAnswer(
                strategy.space.start,
                f"bad result {short(space)} of start: expected one of MetaSchedule's space "
                "generators, e.g. PostOrderApply()",
            )
        return space


def generated_sketches(strategy: Strategy, context: TuneContext) -> list[Schedule]:
    """The sketches of a task by a strategy's design space, which the context has started."""
    with _noting(f"while making the sketches of strategy {strategy.name!r}"):
        return checked_sketches(strategy, context, context.generate_design_space())


def checked_sketches(
    strategy: Strategy, context: TuneContext, sketches: Sequence[Schedule]
) -> list[Schedule]:
    """What a strategy's design space generated for the task of a context, if that is anything."""
    if len(sketches) == 0:
        raise BadAnswer(
            strategy.space.start,
            f"bad design space of strategy {strategy.name!r}: it has no sketch for the task "
            f"{str(context.task_name)!r}; expected at least one, so let a rule that changes "
            "nothing return its schedule, e.g. [sch]",
        )
    return list(sketches)


def start_cost_model(strategy: Strategy) -> CostModel | None:
    """A strategy's cost model for one run, or None if it has none."""
    with _noting(f"while starting the cost model of strategy {strategy.name!r}"):
        model = strategy.cost_model.start()
        if model is None:
            return None
        return checked_start(strategy.cost_model.start, model, _COST_MODEL)


def train_cost_model(
    strategy: Strategy,
    model: CostModel,
    context: TuneContext,
    candidates: Sequence[Candidate],
    results: Sequence[RunnerResult],
) -> None:
    with _noting(f"while training the cost model of strategy {strategy.name!r}"):
        model.update(
            context, [candidate.measure_candidate for candidate in candidates], list(results)
        )


def checked_start(start: _Method, live: _Live, methods: Sequence[str]) -> _Live:
    """The object that a policy's `start` returned, if it has its protocol's methods."""
    missing = [name for name in methods if not callable(getattr(live, name, None))]
    if isinstance(live, type) or missing:
        raise BadAnswer(
            start,
            f"bad result {short(live)} of start: expected an instance with the methods "
            f"{', '.join(methods)}" + (f"; it has no {', '.join(missing)}" if missing else ""),
        )
    return live


def checked_proposal(
    strategy: str, propose: _Method, proposed: Any, *, programs: bool = True
) -> list[Candidate] | None:
    """The candidates that a proposer proposed, each with a copy of its payload."""
    if proposed is None:
        return None
    expected = (
        "expected a list of Candidate, e.g. [Candidate.from_schedule(schedule)], or None to end "
        "the search"
    )
    if not isinstance(proposed, Sequence):
        raise BadAnswer(
            propose, f"bad proposal {short(proposed)} of strategy {strategy!r}: {expected}"
        )
    candidates = []
    for index, candidate in enumerate(proposed):
        if not isinstance(candidate, Candidate) or (programs and not _has_program(candidate)):
            raise BadAnswer(
                propose,
                f"bad proposal of strategy {strategy!r}: {expected}; item {index} is "
                f"{short(candidate)}",
            )
        payload = _json(f"payload of strategy {strategy!r}", propose, candidate.payload)
        candidates.append(replace(candidate, payload=payload))
    return candidates


def _has_program(candidate: Candidate) -> bool:
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

    return isinstance(candidate.measure_candidate, MeasureCandidate)


def checked_decisions(decisions: _Method, decided: Any) -> dict[str, Any]:
    """A policy's report of a round, as JSON values."""
    if not isinstance(decided, Mapping):
        raise BadAnswer(
            decisions,
            f"bad decisions {short(decided)}: expected a dict of JSON values, e.g. "
            "{'generations': 4}; empty if there is nothing to report",
        )
    copied: dict[str, Any] = _json("decisions", decisions, decided)
    return copied


def checked_latencies(measure: _Method, samples: Any) -> tuple[float, ...]:
    """The samples of a measurement policy, in seconds."""
    listed = list(samples) if isinstance(samples, Iterable) else []
    latencies_s = tuple(float(sample) for sample in listed if isinstance(sample, Real))
    if len(latencies_s) < max(1, len(listed)) or not all(0.0 < s < math.inf for s in latencies_s):
        raise BadAnswer(
            measure,
            f"bad latencies {short(samples)}: expected seconds above 0, one per sample, e.g. "
            "(0.00125,)",
        )
    return latencies_s


def checked_shares(shares: _Method, answer: Any, sketches: int) -> NDArray[np.float64]:
    """The probability of each sketch, shape (sketches,)."""
    given = _array(answer, np.float64)
    if given is None or given.shape != (sketches,) or not (given >= 0.0).all():
        raise BadAnswer(
            shares,
            f"bad shares {short(answer)}: expected a probability for each sketch, shape "
            f"({sketches},), e.g. numpy.full({sketches}, 1 / {sketches})",
        )
    total = float(given.sum())
    if not abs(total - 1.0) <= _ROUNDING:
        raise BadAnswer(shares, f"bad shares {short(answer)}: expected a sum of 1, got {total:g}")
    # NumPy's multinomial distribution takes no larger error, which 32-bit shares may have.
    return given if abs(total - 1.0) <= 1e-12 else given / total


def checked_rules(choose: _Method, answer: Any, programs: int, rules: int) -> NDArray[np.intp]:
    """The mutation rule of each program or `BY_WEIGHT`, shape (programs,)."""
    given = _array(answer, None)
    if (
        given is None
        or given.dtype.kind not in "iu"
        or given.shape != (programs,)
        or not ((given >= BY_WEIGHT) & (given < rules)).all()
    ):
        raise BadAnswer(
            choose,
            f"bad rules {short(answer)}: expected an index from 0 to {rules - 1} or BY_WEIGHT, "
            f"integers of shape ({programs},), e.g. numpy.full({programs}, BY_WEIGHT)",
        )
    return given.astype(np.intp)


def checked_scores(predict: _Method, answer: Any, candidates: int) -> NDArray[np.float64]:
    """The score of each candidate, shape (candidates,)."""
    given = _array(answer, np.float64)
    if given is None or given.shape != (candidates,) or np.isnan(given).any():
        raise BadAnswer(
            predict,
            f"bad scores {short(answer)}: expected a number for each candidate, shape "
            f"({candidates},), e.g. numpy.zeros({candidates})",
        )
    return given


def _json(name: str, method: _Method, value: Any) -> Any:
    try:
        return json_value(value)
    except RecordError as error:
        where = f" at {error.where}" if error.where else ""
        raise BadAnswer(
            method,
            f"bad {name}, {short(value)}: expected {error.expected}{where}; JSON values are dicts "
            "with text keys, lists, str, int, finite float, bool and None, e.g. {'step': 3}",
        ) from None


def _array(value: Any, dtype: type | None) -> NDArray[Any] | None:
    try:
        return np.asarray(value, dtype)
    except (TypeError, ValueError):
        return None
