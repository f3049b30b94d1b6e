"""The search of one task, as far as it got: what it has learnt, and what it wants to try next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.measure.outcomes import Measured
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.packed import pack_schedule
from pytest_ansorbench.records import Trial
from pytest_ansorbench.search.candidates import unpack
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.checked import (
    CheckedProposer,
    generated_sketches,
    start_space,
    train_cost_model,
)
from pytest_ansorbench.strategies.cost_model import is_blind
from pytest_ansorbench.strategies.proposer import Observation, Setup

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.s_tir.meta_schedule.runner import RunnerResult
    from tvm.target import Target

    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Surroundings, Task

#: The engine's own patience with rounds in which everything proposed was measured before.
MAX_EMPTY_ROUNDS: Final = 5


@dataclass(frozen=True, eq=False)
class Best:
    """A valid trial and its program; of a task's best, the earliest of equals."""

    index: int  # its place in the run
    latency_s: float
    mod: IRModule
    args_info: Sequence[ArgInfo]

    def program(self, surroundings: Surroundings | None = None) -> Program:
        return Program.kernel(self.mod, self.args_info, surroundings)


@dataclass(frozen=True, eq=False)
class Lead:
    """A trial that was the best so far, as text: its program takes a hundred times the memory."""

    index: int  # its place in the run
    latency_s: float
    schedule: str  # packed
    unscheduled: IRModule  # its task's

    @classmethod
    def of(cls, best: Best, candidate: Candidate, task: Task) -> Lead:
        schedule = pack_schedule(candidate.trace, candidate.mod)
        return cls(best.index, best.latency_s, schedule, task.mod)

    def program(self, surroundings: Surroundings | None = None) -> Program:
        """Made anew, in milliseconds."""
        [made] = unpack(self.schedule, self.unscheduled)
        return Program.kernel(made.mod, made.args_info, surroundings)


@dataclass(frozen=True)
class Shared:
    """What the tasks of one run share, as in MetaSchedule's own tuning of a network."""

    target: Target
    strategy: Strategy
    database: Database
    cost_model: CostModel | None
    seed: int
    budget_trials: int
    round_trials: int
    run_time_s: float | None
    tasks: int


class TaskSearch:
    """One task of a run: its design space, its policies' state, its best program.

    It knows neither clock nor engine; `Search` has these.
    """

    def __init__(self, task: Task, shared: Shared, *, index: int, rounds_done: int) -> None:
        from tvm.s_tir.meta_schedule import TuneContext

        strategy, target = shared.strategy, shared.target
        self.task = task
        # Why it ended; empty if it did not.
        self.stopped = ""
        # The fastest valid trial, or what the last check crowned.
        self.best: Best | None = None
        # The fastest valid trials of different programs, fastest first: as many as the strategy's
        # last check compares.
        self.fastest: list[Best] = []
        # Every trial that was the best so far, in order; last the one that was crowned.
        self.leads: list[Lead | Best] = []
        # Best latency after each round; infinity while no trial was valid.
        self.best_s: list[float] = []
        self.trials_done = 0
        self._shared = shared
        self._empty_rounds = 0
        self._reads_database = getattr(strategy.proposer, "reads_database", True)
        self._blind = False  # whether the cost model answered at random when last it was asked
        context = TuneContext(
            task.mod,
            target=target,
            space_generator=start_space(strategy, target),
            task_name=task.name,
            rand_state=_tvm_seed(shared.seed, index, rounds_done),
        )
        sketches = generated_sketches(strategy, context)
        self.sketches = SketchIndex(sketches)
        self._workload = shared.database.commit_workload(task.mod)
        # What its proposer works with.
        self.setup = Setup(
            context=context,
            sketches=sketches,
            database=shared.database,
            cost_model=shared.cost_model,
            budget_trials=shared.budget_trials,
            round_trials=shared.round_trials,
            run_time_s=shared.run_time_s,
            rng=np.random.default_rng((shared.seed, index)),
            tasks=shared.tasks,
        )
        self._proposer = CheckedProposer(strategy, self.setup)

    @property
    def rng_state(self) -> Mapping[str, Any]:
        """State of the proposer's own generator, which may be set."""
        return self.setup.rng.bit_generator.state

    @rng_state.setter
    def rng_state(self, state: Mapping[str, Any]) -> None:
        self.setup.rng.bit_generator.state = state

    def propose(self, wanted: int) -> list[Candidate]:
        """Candidates for the next round; none if there is nothing, or nothing more, to try."""
        self._blind = is_blind(self._shared.cost_model)
        candidates = self._proposer.propose(wanted)
        if candidates is None:
            self.stopped = "the strategy proposes nothing more"
            return []
        return list(candidates)[:wanted]

    def recall(self, candidates: Sequence[Candidate]) -> None:
        self._proposer.recall(candidates)

    def keep(self, trial: Trial, candidate: Candidate) -> None:
        """Take note of a trial, and of its candidate if it is among the best so far."""
        self.trials_done += 1
        latency_s = trial.latency_s
        if latency_s is None:
            return
        valid = Best(trial.index, latency_s, candidate.mod, candidate.args_info)
        if self.best is None or latency_s < self.best.latency_s:
            self.best = valid
            self.leads.append(Lead.of(valid, candidate, self.task))
        self._rank(valid)

    def crown(self, index: int) -> None:
        """Make one of the `fastest` the best, and the last of the leads."""
        crowned = [trial for trial in self.fastest if trial.index == index]
        if not crowned:
            raise ValueError(f"trial {index} is not among the fastest of its task")
        [self.best] = crowned
        self.leads = [*(lead for lead in self.leads if lead.index != index), self.best]

    def learn(
        self,
        candidates: Sequence[Candidate],
        measured: Sequence[Measured],
        trials: Sequence[Trial],
    ) -> None:
        """Update database, cost model and proposer, as MetaSchedule's callbacks do."""
        results = [_runner_result(outcome) for outcome in measured]
        if self._reads_database:
            self._commit(candidates, results)
        runnable = [
            i for i, outcome in enumerate(measured) if not outcome.status.startswith("build-")
        ]
        if self._shared.cost_model is not None and runnable:
            train_cost_model(
                self._shared.strategy,
                self._shared.cost_model,
                self.setup.context,
                [candidates[i] for i in runnable],
                [results[i] for i in runnable],
            )
        self._proposer.learn(
            [
                Observation(
                    candidate,
                    result,
                    trial.sketch,
                    self.task.flops / trial.latency_s / 1e9 if trial.latency_s else 0.0,
                )
                for candidate, result, trial in zip(candidates, results, trials, strict=True)
            ]
        )

    def finish_round(self, trials: int) -> Mapping[str, Any]:
        """End a round of so many trials, and tell what the policies decided in it."""
        self.best_s.append(self.best.latency_s if self.best else math.inf)
        self._empty_rounds += not trials
        if self._empty_rounds >= MAX_EMPTY_ROUNDS:
            self.stopped = f"{MAX_EMPTY_ROUNDS} rounds without a new candidate"
        decided = self._proposer.decisions()
        return {"cost_model": "untrained", **decided} if self._blind else decided

    def _rank(self, valid: Best) -> None:
        """Put a valid trial among the fastest, unless it is too slow or a slower twin."""
        from tvm_ffi import structural_equal

        check = self._shared.strategy.last_check
        if check is None:
            return
        ranked = sorted([*self.fastest, valid], key=lambda trial: trial.latency_s)
        at = ranked.index(valid)
        if at >= check.top or any(structural_equal(t.mod, valid.mod) for t in ranked[:at]):
            return
        slower = [t for t in ranked[at + 1 :] if not structural_equal(t.mod, valid.mod)]
        self.fastest = [*ranked[: at + 1], *slower][: check.top]

    def _commit(self, candidates: Sequence[Candidate], results: Sequence[RunnerResult]) -> None:
        from tvm.s_tir.meta_schedule.database import TuningRecord

        for candidate, result in zip(candidates, results, strict=True):
            self._shared.database.commit_tuning_record(
                TuningRecord(
                    candidate.trace,
                    self._workload,
                    # What `AddToDatabase` writes for a failed trial.
                    result.run_secs or [1e10],
                    self._shared.target,
                    candidate.args_info,
                )
            )


def _tvm_seed(seed: int, index: int, rounds: int) -> int:
    """TVM takes 1 to 2^31 - 1; other tasks and other rounds go on from other numbers."""
    return 1 + (seed + index * 15_485_863 + rounds * 1_000_003) % (2**31 - 1)


def _runner_result(outcome: Measured) -> RunnerResult:
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    if outcome.status == "ok":
        return RunnerResult(list(outcome.latencies_s), None)
    return RunnerResult(None, outcome.error or outcome.status)
