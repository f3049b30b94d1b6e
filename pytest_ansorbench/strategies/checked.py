"""A strategy's policies at work: their answers are checked, and their errors say what they did.

A search talks to the policies of a strategy through this module only. An error that leaves a
policy's own code keeps its type and gets a note that names the strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.policy import ComparingMeasurement, Measurement, Stopwatch
from pytest_ansorbench.strategies.answers import (
    checked_decisions,
    checked_latencies,
    checked_proposal,
    checked_start,
)
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.errors import noting
from pytest_ansorbench.strategies.proposer import NothingMore, Observation, Setup
from pytest_ansorbench.strategies.strategy import Strategy

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.runner import RunnerResult

_PROPOSER: Final = ("propose", "learn", "recall", "decisions")
_COST_MODEL: Final = ("predict", "update")


class CheckedProposer:
    """A strategy's proposer for one task of one run; itself a `Proposer`.

    Its methods raise `BadAnswer` where the proposer's answers are none that a search can use.

    Attributes:
        proposer: The proposer whose answers are checked.
    """

    def __init__(self, strategy: Strategy, setup: Setup) -> None:
        """Start the proposer.

        Args:
            strategy: The strategy.
            setup: The task and the run.

        Raises:
            BadAnswer: Its `start` returned no proposer.
        """
        self._name = strategy.name
        with noting(f"while starting strategy {self._name!r}"):
            live = strategy.proposer.start(setup)
            self.proposer = checked_start(strategy.proposer.start, live, _PROPOSER)

    def propose(self, trials: int) -> Sequence[Candidate] | NothingMore:
        """Candidates for the next round; see `Proposer.propose`."""
        with noting(f"while asking strategy {self._name!r} for candidates"):
            proposed = self.proposer.propose(trials)
            return checked_proposal(self._name, self.proposer.propose, proposed)

    def learn(self, batch: Sequence[Observation]) -> None:
        """Tell of a measured round; see `Proposer.learn`."""
        with noting(f"while telling strategy {self._name!r} what was measured"):
            self.proposer.learn(batch)

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """Tell what an interrupted run had proposed; see `Proposer.recall`."""
        with noting(f"while telling strategy {self._name!r} what it had proposed before"):
            self.proposer.recall(candidates)

    def decisions(self) -> Mapping[str, Any]:
        """The decisions of the last round; see `Proposer.decisions`."""
        with noting(f"while asking strategy {self._name!r} for its decisions"):
            return checked_decisions(self.proposer.decisions, self.proposer.decisions())


class CheckedMeasurement:
    """A strategy's measurement policy; itself a `Measurement`."""

    def __init__(self, strategy: Strategy) -> None:
        self._name = strategy.name
        self._policy = strategy.measurement

    def __repr__(self) -> str:
        return repr(self._policy)

    def measure(self, kernel: Stopwatch, best_s: float | None) -> tuple[float, ...]:
        """Measure a kernel; see `Measurement.measure`.

        Raises:
            BadAnswer: The policy returned no latencies.
        """
        with noting(f"while strategy {self._name!r} measured a candidate"):
            samples = self._policy.measure(kernel, best_s)
            return checked_latencies(self._policy.measure, samples)


class CheckedComparison(CheckedMeasurement):
    """A strategy's measurement policy that compares; itself a `ComparingMeasurement`."""

    def __init__(self, strategy: Strategy, policy: ComparingMeasurement) -> None:
        super().__init__(strategy)
        self._comparing = policy

    def compare(self, kernel: Stopwatch, incumbent: Stopwatch, best_s: float) -> tuple[float, ...]:
        """Measure a kernel beside another; see `ComparingMeasurement.compare`.

        Raises:
            BadAnswer: The policy returned no latencies.
        """
        with noting(f"while strategy {self._name!r} compared a candidate"):
            samples = self._comparing.compare(kernel, incumbent, best_s)
            return checked_latencies(self._comparing.compare, samples)


def checked_measurement(strategy: Strategy) -> Measurement:
    """A strategy's measurement policy, which compares if the strategy's own does."""
    policy = strategy.measurement
    if isinstance(policy, ComparingMeasurement):
        return CheckedComparison(strategy, policy)
    return CheckedMeasurement(strategy)


def start_cost_model(strategy: Strategy) -> CostModel | None:
    """A strategy's cost model for one run, or None if it has none.

    Raises:
        BadAnswer: Its policy returned something else.
    """
    with noting(f"while starting the cost model of strategy {strategy.name!r}"):
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
    """Train a strategy's cost model with measured candidates of a task."""
    with noting(f"while training the cost model of strategy {strategy.name!r}"):
        model.update(
            context, [candidate.measure_candidate for candidate in candidates], list(results)
        )
