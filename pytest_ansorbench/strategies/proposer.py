"""The interface of a proposer: its setup, its methods, its observations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pytest_ansorbench.strategies.program_maker import ProgramMaker

if TYPE_CHECKING:
    import numpy as np
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    from pytest_ansorbench.strategies.candidate import Candidate
    from pytest_ansorbench.strategies.decisions.design_space import DesignSpace


@dataclass(frozen=True)
class Setup:
    """Everything a proposer works with.

    It belongs to one task of one run, except for `database` and `cost_model`, which are the
    same for all tasks of a network.

    Attributes:
        context: MetaSchedule's view of the task: `mod` (the unscheduled program), `target`, and
            `space_generator` with its `postprocs` and `mutator_probs`.
        sketches: The design space, one schedule per sketch, with decisions drawn at random.
        database: Empty at the start; the search commits every trial to it, unless the policy says
            that it does not read it.
        cost_model: Untrained at the start, trained by the search; None if the strategy has none.
        budget_trials: Trials the run may measure, all tasks together; with a run time those to
            plan for, where more may follow.
        round_trials: Trials per round.
        rng: Seeded source of randomness. Draw everything random from it, so that equal seeds
            give equal proposals; its state is kept in the journal.
        tasks: Tasks that the budget is for.
        run_time_s: Seconds of search after which the run ends; None if its trials alone end it.
    """

    context: TuneContext
    sketches: Sequence[Schedule]
    database: Database
    cost_model: CostModel | None
    budget_trials: int
    round_trials: int
    rng: np.random.Generator
    tasks: int = 1
    run_time_s: float | None = None

    def design_space(self) -> DesignSpace:
        """The decisions of the sketches; this makes some programs."""
        from pytest_ansorbench.strategies.decisions.traced import TracedDesign

        return TracedDesign.of(self.sketches, ProgramMaker(self.context))


class PointSetup(Protocol):
    """Those parts of a `Setup` that a proposer of points works with.

    There may be recorded measurements instead of programs.
    """

    @property
    def context(self) -> TuneContext | None:
        """The task; None without programs."""

    @property
    def cost_model(self) -> CostModel | None:
        """See `Setup`; None without programs."""

    @property
    def budget_trials(self) -> int:
        """See `Setup`, as for all that follow."""

    @property
    def rng(self) -> np.random.Generator:
        """Source of randomness."""

    @property
    def tasks(self) -> int:
        """Tasks that the budget is for."""

    def design_space(self) -> DesignSpace:
        """The decisions of the task; may take some seconds."""


@dataclass(frozen=True)
class Observation:
    """One measured candidate, as a proposer learns of it.

    Attributes:
        candidate: The candidate, with the payload that its proposer gave it.
        result: The measurement as MetaSchedule has it: `run_secs` in seconds, or `error_msg`. None
            for the record of one.
        sketch: Index into `Setup.sketches` of the sketch it was sampled from; -1 if of none.
        gflops: Measured throughput in GFLOP/s; 0 for a failed trial.
    """

    candidate: Candidate
    result: RunnerResult | None
    sketch: int
    gflops: float


class Proposer(Protocol):
    """Chooses what to measure next; lives for one task of one run.

    A round calls `propose`, then `learn`, then `decisions`. The seconds of `propose` and `learn`
    count as search time.
    """

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        """Candidates for the next round.

        Args:
            trials: How many are wanted, at least 1. Those beyond are not measured; fewer, or
                none, are fine, but five empty rounds end the search of the task.

        Returns:
            The candidates, or None to give the rest of the task's trials back.
        """
        ...

    def learn(self, batch: Sequence[Observation]) -> None:
        """Take note of a measured round.

        Args:
            batch: The candidates of the last `propose`, in its order. Database and cost model
                have learnt of them already.
        """
        ...

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """Take note of what an interrupted run had proposed.

        Called at most once, right after the start, when a run is resumed from its journal. The
        rounds are then replayed through `learn`; only what a proposer notes while proposing,
        such as a set of programs not to propose again, has to be rebuilt here.

        Args:
            candidates: All candidates of the earlier rounds, in order, with their payloads.
                They are rebuilt: equal to those proposed, but not the same objects.
        """
        ...

    def decisions(self) -> Mapping[str, Any]:
        """The decisions of the last round, for the record.

        Returns:
            JSON values by name; empty if there is nothing to say. They are kept in result files,
            and `-v` shows them.
        """
        ...


class ProposerPolicy(Protocol):
    """Parameters of a proposer: best a frozen dataclass, so that a strategy can be shared.

    One with `reads_database = False` does without `Setup.database`, which then stays empty: the
    record of a trial takes some 40 kB.
    """

    def start(self, setup: Setup) -> Proposer:
        """A new proposer for one task of one run. This costs no search time.

        Args:
            setup: The task, and the means to search it.
        """
        ...


class DecisionPolicy(ABC):
    """Parameters of a proposer that needs no programs but those of a design space's points.

    It searches wherever there are points: in TVM's sketches, or in what was recorded of them.
    """

    reads_database: ClassVar[bool] = False

    @abstractmethod
    def start(self, setup: PointSetup) -> Proposer:
        """A new proposer for one task of one run; see `ProposerPolicy.start`."""
