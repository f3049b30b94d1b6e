"""What a strategy is: a name and a choice of policies, one for each thing a search decides.

A policy is a frozen dataclass that holds parameters and no state. `start` makes its live
counterpart for one run, so that nothing of a run leaks into another. Importing this package
does not import TVM; policies do so when they are started.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pytest_ansorbench.measure.policy import FixedMeasurement, Measurement
from pytest_ansorbench.strategies.cost_model import XGBoostModel
from pytest_ansorbench.strategies.mutations import StockMutations

if TYPE_CHECKING:
    import numpy as np
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.s_tir.meta_schedule.mutator import Mutator
    from tvm.s_tir.meta_schedule.runner import RunnerResult
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator
    from tvm.target import Target


@dataclass(frozen=True)
class Setup:
    """What one run gives its proposer to work with; all of it belongs to this run alone.

    Attributes:
        context: MetaSchedule's view of the task: program, target, rules and postprocessors.
        sketches: The design space, one schedule per sketch.
        database: Empty at the start; the loop commits every trial to it.
        cost_model: Untrained at the start, updated by the loop; None if the strategy has none.
        budget_trials: Trials the run may measure.
        round_trials: Trials to propose a round.
        rng: Seeded source of randomness.
    """

    context: TuneContext
    sketches: Sequence[Schedule]
    database: Database
    cost_model: CostModel | None
    budget_trials: int
    round_trials: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Observation:
    """One measured candidate, as a proposer learns of it.

    Attributes:
        candidate: What was proposed.
        result: What MetaSchedule makes of the measurement.
        sketch: Index of the sketch it was sampled from.
        gflops: Measured throughput in GFLOP/s; 0 for a failed trial.
    """

    candidate: MeasureCandidate
    result: RunnerResult
    sketch: int
    gflops: float


class Proposer(Protocol):
    """Chooses what to measure next; lives for one run."""

    def propose(self, trials: int) -> Sequence[MeasureCandidate] | None:
        """Candidates for the next round.

        Args:
            trials: How many are wanted. More are never measured; fewer, even none, are fine.

        Returns:
            The candidates, or None if the space is exhausted and the run is to end.
        """
        ...

    def learn(self, batch: Sequence[Observation]) -> None:
        """Take note of a measured round; database and cost model are up to date already."""
        ...

    def recall(self, candidates: Sequence[MeasureCandidate]) -> None:
        """Take note of what an interrupted run had proposed, before it is learnt of anew.

        Called at most once, right after the start. What a proposer notes of its own proposals,
        such as a set of programs not to be proposed again, is rebuilt here.
        """
        ...

    def decisions(self) -> Mapping[str, Any]:
        """What was decided in the last round, for the record: JSON values only."""
        ...


class ProposerPolicy(Protocol):
    """Parameters of a proposer."""

    def start(self, setup: Setup) -> Proposer:
        """The proposer for one run."""
        ...


class MutationPolicy(Protocol):
    """Chooses the mutation rules of an evolutionary search and their weights."""

    def mutators(self, target: Target) -> Mapping[Mutator, float] | Literal["from-target"]:
        """Weight per mutation rule, or `from-target` for the target's stock rules."""
        ...


class CostModelPolicy(Protocol):
    """Chooses what predicts a candidate's score before it is measured."""

    def start(self) -> CostModel | None:
        """An untrained model for one run, or None for a search without one."""
        ...


@dataclass(frozen=True)
class Strategy:
    """A search: its name in tables and its policies, each stock unless said otherwise.

    Two strategies that differ in one policy differ in nothing else; that is what makes an
    ablation of them worth reading.

    Attributes:
        name: Lower-case name, as `--ansor-strategy` takes it.
        proposer: How candidates are chosen.
        mutations: Mutation rules for evolutionary proposers.
        cost_model: What scores candidates before measurement.
        measurement: How long a candidate is run.
        description: One line for listings.
    """

    name: str
    proposer: ProposerPolicy
    mutations: MutationPolicy = field(default_factory=StockMutations)
    cost_model: CostModelPolicy = field(default_factory=XGBoostModel)
    measurement: Measurement = field(default_factory=FixedMeasurement)
    description: str = ""

    def space(self, target: Target) -> SpaceGenerator:
        """MetaSchedule's design space for a target, with this strategy's mutation rules."""
        from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

        return PostOrderApply(mutator_probs=self.mutations.mutators(target))


def control_of(reference: Strategy) -> Strategy:
    """The reference under another name: compared with it, all that shows is noise."""
    return replace(
        reference,
        name=f"{reference.name}-again",
        description=f"a control: {reference.name} a second time",
    )
