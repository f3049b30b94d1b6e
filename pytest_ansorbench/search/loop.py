"""One search: rounds of propose, build, run and learn over MetaSchedule's parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.records import Remeasurement, Round, Run, Trial
from pytest_ansorbench.search.candidates import CandidateError, pack, unpack
from pytest_ansorbench.search.clock import Clock
from pytest_ansorbench.search.random_state import PrivateRandomState
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.storage.entries import RoundEntry, SearchState
from pytest_ansorbench.strategies.strategy import Observation, Setup

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.runner import RunnerResult
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Task

#: The engine's own patience with rounds in which everything proposed was measured before.
MAX_EMPTY_ROUNDS: Final = 5


@dataclass(frozen=True)
class _Best:
    """The fastest valid trial so far, the earliest of equals."""

    index: int
    latency_s: float
    mod: IRModule
    args_info: Sequence[ArgInfo]


class ResumeError(ValueError):
    """A journal that this search cannot go on from."""


class Search:
    """One run in the making: call `step` until it is finished, then take its record.

    Random state, database, cost model and policies belong to this object alone; only the
    measurement engine is shared with other searches.
    """

    def __init__(
        self,
        task: Task,
        strategy: Strategy,
        engine: Engine,
        *,
        case: str,
        seed: int,
        budget_trials: int,
        round_trials: int,
        on_trial: Callable[[Search], None] = lambda search: None,
        resumed: Sequence[RoundEntry] = (),
    ) -> None:
        """Set up the design space and what was learnt in earlier rounds; costs no search time.

        What goes on from a journal has the database, cost model, measured set, policies and
        random states of NumPy that it had. TVM's own random state cannot be read, so its rounds
        go on from another one, which the seed and the number of rounds decide; nor could
        they be repeated without an interruption, since TVM's threads race for work.

        Args:
            task: What to tune.
            strategy: How.
            engine: Builds and measures candidates.
            case: Id of the case, for the record.
            seed: Seed of everything random, at least 0.
            budget_trials: Trials to measure.
            round_trials: Trials a round.
            on_trial: Called after every trial, outside the clock.
            resumed: The rounds that this run has behind it already.

        Raises:
            ResumeError: The rounds are not of this task.
        """
        from tvm.s_tir.meta_schedule import TuneContext
        from tvm.s_tir.meta_schedule.database import MemoryDatabase

        self.case = case
        self.strategy = strategy
        self.seed = seed
        self.budget_trials = budget_trials
        self._task = task
        self._engine = engine
        self._round_trials = round_trials
        self._on_trial = on_trial
        self._clock = Clock(elapsed_s=sum(entry.round.search_s for entry in resumed))
        self._random_state = PrivateRandomState(seed)
        self._rounds: list[Round] = []
        self._trials: list[Trial] = []
        self._empty_rounds = 0
        self._stopped = ""
        self._best: _Best | None = None

        with self._random_state.installed():
            self._context = TuneContext(
                task.mod,
                target=engine.target,
                space_generator=strategy.space(engine.target),
                task_name=task.name,
                rand_state=_tvm_seed(seed, len(resumed)),
            )
            sketches = self._context.generate_design_space()
            self._sketch_index = SketchIndex(sketches)
            self._database = MemoryDatabase()
            self._workload = self._database.commit_workload(task.mod)
            self._cost_model = strategy.cost_model.start()
            self._rng = np.random.default_rng(seed)
            self._proposer = strategy.proposer.start(
                Setup(
                    context=self._context,
                    sketches=sketches,
                    database=self._database,
                    cost_model=self._cost_model,
                    budget_trials=budget_trials,
                    round_trials=round_trials,
                    rng=self._rng,
                )
            )
        self._measured: list[MeasureCandidate] = []  # of the last round
        if resumed:
            self._restore(resumed)

    @property
    def finished(self) -> bool:
        """Whether the budget is spent or the space exhausted."""
        return bool(self._stopped) or len(self._trials) >= self.budget_trials

    @property
    def rounds_done(self) -> int:
        """Rounds so far."""
        return len(self._rounds)

    @property
    def trials_done(self) -> int:
        """Trials measured so far."""
        return len(self._trials)

    @property
    def search_s(self) -> float:
        """Search time so far, in seconds."""
        return self._clock.elapsed_s

    @property
    def best_gflops(self) -> float:
        """Throughput of the best trial so far in GFLOP/s; 0 if none is valid."""
        return self._task.flops / self._best.latency_s / 1e9 if self._best else 0.0

    @property
    def winner(self) -> tuple[IRModule, Sequence[ArgInfo]] | None:
        """Schedule and arguments of the best trial so far; None if none is valid."""
        return (self._best.mod, self._best.args_info) if self._best else None

    def step(self) -> None:
        """Run one round. Does nothing once the search is finished."""
        if self.finished:
            return
        restarts_before = self._engine.restarts
        wanted = min(self._round_trials, self.budget_trials - len(self._trials))
        with self._random_state.installed(), self._clock.phase("propose"):
            candidates = self._proposer.propose(wanted)
        if candidates is None:
            self._stopped = "the strategy proposes nothing more"
        elif not candidates:
            self._empty_rounds += 1
            if self._empty_rounds >= MAX_EMPTY_ROUNDS:
                self._stopped = f"{MAX_EMPTY_ROUNDS} rounds without a new candidate"
        candidates = self._measured = list(candidates or [])[:wanted]
        measured = self._measure(candidates)
        with self._random_state.installed(), self._clock.phase("learn"):
            self._learn(candidates, measured)
        self._finish_round(self._engine.restarts - restarts_before)

    def last_round(self, label: str) -> RoundEntry:
        """The round that was stepped through last, with all it takes to go on from there.

        Args:
            label: What the journal calls the case.
        """
        index = len(self._rounds)
        text, position = self._random_state.dump()
        return RoundEntry(
            label=label,
            seed=self.seed,
            strategy=self.strategy.name,
            sketches=self._sketch_index.fingerprints,
            round=self._rounds[-1],
            trials=tuple(trial for trial in self._trials if trial.round == index),
            stopped=self._stopped,
            state=SearchState(pack(self._measured), text, position, self._rng.bit_generator.state),
        )

    def final(self, outcome: Measured | None) -> Remeasurement:
        """The winner's re-measurement for the record.

        Args:
            outcome: What the engine made of `winner`; None if there was none.
        """
        if self._best is None or outcome is None:
            return Remeasurement(None, "run-error", (), "no valid trial")
        return Remeasurement(self._best.index, outcome.status, outcome.latencies_s, outcome.error)

    def record(self) -> Run:
        """The run as far as it got."""
        return Run(
            case=self.case,
            strategy=self.strategy.name,
            seed=self.seed,
            budget_trials=self.budget_trials,
            round_trials=self._round_trials,
            flops=self._task.flops,
            sketches=self._sketch_index.fingerprints,
            rounds=tuple(self._rounds),
            trials=tuple(self._trials),
            stopped=self._stopped,
        )

    def _restore(self, resumed: Sequence[RoundEntry]) -> None:
        """Learn what was learnt in rounds that a journal holds."""
        last = resumed[-1]
        if last.sketches != self._sketch_index.fingerprints:
            raise ResumeError("its design space is another one than in the journal")
        try:
            batches = [unpack(entry.state.candidates, self._task.mod) for entry in resumed]
            self._random_state.load(last.state.numpy_state, last.state.numpy_position)
            self._rng.bit_generator.state = last.state.rng
        except (CandidateError, ValueError, KeyError, TypeError) as error:
            raise ResumeError(f"a round cannot be rebuilt: {error}") from None
        with self._random_state.installed():
            self._proposer.recall([candidate for batch in batches for candidate in batch])
            for entry, batch in zip(resumed, batches, strict=True):
                if len(batch) != len(entry.trials):
                    raise ResumeError(
                        f"round {entry.round.index} has {len(batch)} candidates, expected one for "
                        f"each of its {len(entry.trials)} trials"
                    )
                for candidate, trial in zip(batch, entry.trials, strict=True):
                    self._keep(trial, candidate)
                self._learn(batch, [_measured(trial) for trial in entry.trials])
                self._rounds.append(entry.round)
        # Learning anew may have drawn numbers that were drawn before.
        self._random_state.load(last.state.numpy_state, last.state.numpy_position)
        self._empty_rounds = sum(not entry.trials for entry in resumed)
        self._stopped = last.stopped

    def _keep(self, trial: Trial, candidate: MeasureCandidate) -> None:
        """Take a trial down, and its candidate if it is the best so far."""
        self._trials.append(trial)
        latency_s = trial.latency_s
        if latency_s is not None and (self._best is None or latency_s < self._best.latency_s):
            self._best = _Best(trial.index, latency_s, candidate.sch.mod, candidate.args_info)

    def _measure(self, candidates: Sequence[MeasureCandidate]) -> list[Measured]:
        """Build candidates, then run them one after the other, as many as the engine can hold."""
        outcomes = []
        for start in range(0, len(candidates), self._engine.capacity):
            outcomes += self._measure_batch(candidates[start : start + self._engine.capacity])
        return outcomes

    def _measure_batch(self, candidates: Sequence[MeasureCandidate]) -> list[Measured]:
        with self._clock.phase("build"):
            built = self._engine.build(
                [candidate.sch.mod for candidate in candidates], self._task.check
            )
        outcomes: list[Measured] = []
        try:
            for candidate, each in zip(candidates, built, strict=True):
                outcomes.append(self._measure_one(candidate, each))
        finally:
            for each in built[len(outcomes) :]:
                self._engine.discard(each)
        return outcomes

    def _measure_one(self, candidate: MeasureCandidate, built: Built) -> Measured:
        with self._clock.phase("run"):
            outcome = self._engine.run(
                built,
                candidate.args_info,
                self.strategy.measurement,
                best_s=self._best.latency_s if self._best else None,
            )
        trial = Trial(
            round=len(self._rounds) + 1,
            index=len(self._trials),
            status=outcome.status,
            latencies_s=outcome.latencies_s,
            sketch=self._sketch_index.of(candidate.sch),
            search_s=self._clock.elapsed_s,
            error=outcome.error,
            build_s=outcome.build_s,
            run_s=outcome.run_s,
            peak_memory_mb=outcome.peak_memory_mb,
        )
        self._keep(trial, candidate)
        self._on_trial(self)
        return outcome

    def _learn(self, candidates: Sequence[MeasureCandidate], measured: Sequence[Measured]) -> None:
        """Update database, cost model and proposer, as MetaSchedule's callbacks do."""
        results = [_runner_result(outcome) for outcome in measured]
        self._commit(candidates, results)
        runnable = [
            i for i, outcome in enumerate(measured) if not outcome.status.startswith("build-")
        ]
        if self._cost_model is not None and runnable:
            self._cost_model.update(
                self._context, [candidates[i] for i in runnable], [results[i] for i in runnable]
            )
        trials = self._trials[len(self._trials) - len(measured) :]
        self._proposer.learn(
            [
                Observation(
                    candidate,
                    result,
                    trial.sketch,
                    self._task.flops / trial.latency_s / 1e9 if trial.latency_s else 0.0,
                )
                for candidate, result, trial in zip(candidates, results, trials, strict=True)
            ]
        )

    def _commit(
        self, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        from tvm.s_tir.meta_schedule.database import TuningRecord

        for candidate, result in zip(candidates, results, strict=True):
            self._database.commit_tuning_record(
                TuningRecord(
                    candidate.sch.trace,
                    self._workload,
                    # What `AddToDatabase` writes for a failed trial.
                    result.run_secs or [1e10],
                    self._engine.target,
                    candidate.args_info,
                )
            )

    def _finish_round(self, restarts: int) -> None:
        seconds = self._clock.take_round()
        self._rounds.append(
            Round(
                index=len(self._rounds) + 1,
                propose_s=seconds["propose"],
                build_s=seconds["build"],
                run_s=seconds["run"],
                learn_s=seconds["learn"],
                decisions=dict(self._proposer.decisions()),
                restarts=restarts,
            )
        )


def _tvm_seed(seed: int, rounds: int) -> int:
    """TVM takes 1 to 2^31 - 1; other rounds go on from other numbers."""
    return 1 + (seed + rounds * 1_000_003) % (2**31 - 1)


def _measured(trial: Trial) -> Measured:
    """What the engine said of a trial that is on record."""
    return Measured(trial.status, trial.latencies_s, trial.error)


def _runner_result(outcome: Measured) -> RunnerResult:
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    if outcome.status == "ok":
        return RunnerResult(list(outcome.latencies_s), None)
    return RunnerResult(None, outcome.error or outcome.status)
