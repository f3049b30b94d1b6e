"""A strategy's policies at work: their answers are checked, and their errors say what they did.

A search talks to the policies of a strategy through this module only. An error that leaves a
policy's own code keeps its type and gets a note that names the strategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.policy import ComparingMeasurement, Measurement, Stopwatch
from pytest_ansorbench.strategies.answers import (
    checked_decisions,
    checked_latencies,
    checked_proposal,
    checked_start,
)
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.proposer import NothingMore, Observation, Setup
from pytest_ansorbench.strategies.strategy import Strategy

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.runner import RunnerResult

_PROPOSER: Final = ("propose", "learn", "recall", "decisions")
_COST_MODEL: Final = ("predict", "update")


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
    """A strategy's proposer for one task of one run; itself a `Proposer`."""

    def __init__(self, strategy: Strategy, setup: Setup) -> None:
        self._name = strategy.name
        with _noting(f"while starting strategy {self._name!r}"):
            live = strategy.proposer.start(setup)
            self.proposer = checked_start(strategy.proposer.start, live, _PROPOSER)

    def propose(self, trials: int) -> Sequence[Candidate] | NothingMore:
        with _noting(f"while asking strategy {self._name!r} for candidates"):
            proposed = self.proposer.propose(trials)
            return checked_proposal(self._name, self.proposer.propose, proposed)

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
        self._policy = strategy.measurement

    def __repr__(self) -> str:
        return repr(self._policy)

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        with _noting(f"while strategy {self._name!r} measured a candidate"):
            samples = self._policy.measure(kernel, best_s)
            return checked_latencies(self._policy.measure, samples)


class CheckedComparison(CheckedMeasurement):
    """A strategy's measurement policy that compares; itself a `ComparingMeasurement`."""

    def __init__(self, strategy: Strategy, policy: ComparingMeasurement) -> None:
        super().__init__(strategy)
        self._comparing = policy

    def compare(self, kernel: Stopwatch, incumbent: Stopwatch, best_s: float) -> tuple[float, ...]:
        with _noting(f"while strategy {self._name!r} compared a candidate"):
            samples = self._comparing.compare(kernel, incumbent, best_s)
            return checked_latencies(self._comparing.compare, samples)


def checked_measurement(strategy: Strategy) -> Measurement:
    """A strategy's measurement policy, which compares if the strategy's own does."""
    policy = strategy.measurement
    if isinstance(policy, ComparingMeasurement):
        return CheckedComparison(strategy, policy)
    return CheckedMeasurement(strategy)


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
