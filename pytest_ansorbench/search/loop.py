"""One search: rounds of propose, build, run and learn over the tasks of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.records import Remeasurement, Round, Run, TaskRecord, Trial
from pytest_ansorbench.search.candidates import CandidateError, pack, unpack
from pytest_ansorbench.search.clock import Clock
from pytest_ansorbench.search.random_state import PrivateRandomState
from pytest_ansorbench.search.scheduling import GradientScheduler, TaskScheduler, TaskStanding
from pytest_ansorbench.search.task_search import Shared, TaskSearch
from pytest_ansorbench.storage.entries import RoundEntry, SearchState
from pytest_ansorbench.strategies.checked import CheckedMeasurement, start_cost_model

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.strategies.candidate import Candidate
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Task


class ResumeError(ValueError):
    """A journal that this search cannot go on from."""


class Search:
    """One run in the making: call `step` until it is finished, then take its record.

    Random state, database, cost model and policies belong to this object alone; only the
    measurement engine is shared with other searches. Tasks share the run's budget, clock,
    database and cost model, and each has policies of its own.

    Attributes:
        case: Id of the case.
        strategy: How it is searched.
        seed: Seed of everything random.
        budget_trials: Trials to measure.
        tasks: The search of each task.
        current: The task that the last step was on; None before the first.
    """

    def __init__(
        self,
        case: Case,
        tasks: Sequence[Task],
        strategy: Strategy,
        engine: Engine,
        *,
        seed: int,
        budget_trials: int,
        round_trials: int,
        scheduler: TaskScheduler = GradientScheduler(),  # noqa: B008 - frozen
        on_trial: Callable[[Search], None] = lambda search: None,
        resumed: Sequence[RoundEntry] = (),
    ) -> None:
        """Set up the design spaces and what was learnt in earlier rounds; costs no search time.

        What goes on from a journal has the database, cost model, measured set, policies and
        random states of NumPy that it had. TVM's own random state cannot be read, so its rounds
        go on from another one, which the seed and the number of rounds decide; nor could
        they be repeated without an interruption, since TVM's threads race for work.

        Args:
            case: What to tune.
            tasks: Its tasks, at least one; checks may have been added to them.
            strategy: How.
            engine: Builds and measures candidates.
            seed: Seed of everything random, at least 0.
            budget_trials: Trials to measure.
            round_trials: Trials a round.
            scheduler: Shares rounds out among the tasks.
            on_trial: Called after every trial, outside the clock.
            resumed: The rounds that this run has behind it already.

        Raises:
            ResumeError: The rounds are not of these tasks.
        """
        from tvm.s_tir.meta_schedule.database import MemoryDatabase

        self.case = case.id
        self.strategy = strategy
        self.seed = seed
        self.budget_trials = budget_trials
        self.current: TaskSearch | None = None
        self._flops = case.flops
        self._engine = engine
        self._round_trials = round_trials
        self._scheduler = scheduler
        self._measurement = CheckedMeasurement(strategy)
        self._on_trial = on_trial
        self._clock = Clock(elapsed_s=sum(entry.round.search_s for entry in resumed))
        self._random_state = PrivateRandomState(seed)
        self._rounds: list[Round] = []
        self._trials: list[Trial] = []
        self._measured: list[Candidate] = []  # of the last round
        with self._random_state.installed():
            shared = Shared(
                target=engine.target,
                strategy=strategy,
                database=MemoryDatabase(),
                cost_model=start_cost_model(strategy),
                seed=seed,
                budget_trials=budget_trials,
                round_trials=round_trials,
            )
            self.tasks = tuple(
                TaskSearch(task, shared, index=index, rounds_done=len(resumed))
                for index, task in enumerate(tasks)
            )
        if resumed:
            self._restore(resumed)

    @property
    def finished(self) -> bool:
        """Whether the budget is spent or every design space exhausted."""
        return len(self._trials) >= self.budget_trials or all(task.stopped for task in self.tasks)

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
    def estimated_s(self) -> float | None:
        """Latency of the case by its tasks' best so far; None while one has no valid trial."""
        best = [task.best for task in self.tasks]
        if None in best:
            return None
        return sum(
            each.task.weight * each.best.latency_s for each in self.tasks if each.best is not None
        )

    @property
    def best_gflops(self) -> float:
        """Throughput of the case by its tasks' best so far, in GFLOP/s; 0 while one has none."""
        estimated_s = self.estimated_s
        return self._flops / estimated_s / 1e9 if estimated_s else 0.0

    def step(self) -> None:
        """Run one round of one task. Does nothing once the search is finished."""
        if self.finished:
            return
        restarts_before = self._engine.restarts
        index = self._scheduler.next_task(self._standings(), self._draw)
        task = self.current = self.tasks[index]
        wanted = min(self._round_trials, self.budget_trials - len(self._trials))
        with self._random_state.installed(), self._clock.phase("propose"):
            candidates = task.propose(wanted)
        self._measured = candidates
        measured = self._measure(task, candidates)
        with self._random_state.installed(), self._clock.phase("learn"):
            task.learn(candidates, measured, self._trials[len(self._trials) - len(measured) :])
        self._finish_round(index, len(candidates), self._engine.restarts - restarts_before)

    def last_round(self, label: str) -> RoundEntry:
        """The round that was stepped through last, with all it takes to go on from there.

        Args:
            label: What the journal calls the case.
        """
        last = self._rounds[-1]
        task = self.tasks[last.task]
        text, position = self._random_state.dump()
        return RoundEntry(
            label=label,
            seed=self.seed,
            strategy=self.strategy.name,
            sketches=task.sketches.fingerprints,
            round=last,
            trials=tuple(trial for trial in self._trials if trial.round == last.index),
            stopped=task.stopped,
            state=SearchState(pack(self._measured), text, position, task.rng_state),
        )

    def final(self, outcome: Measured | None) -> Remeasurement:
        """The winner's re-measurement for the record.

        Args:
            outcome: What the engine made of the winner; None if there was none.
        """
        if outcome is None:
            return Remeasurement(None, "run-error", (), "no valid trial")
        best = self.tasks[0].best if len(self.tasks) == 1 else None
        trial = best.index if best is not None else None
        return Remeasurement(trial, outcome.status, outcome.latencies_s, outcome.error)

    def record(self) -> Run:
        """The run as far as it got."""
        done = len(self._trials) >= self.budget_trials
        return Run(
            case=self.case,
            strategy=self.strategy.name,
            seed=self.seed,
            budget_trials=self.budget_trials,
            round_trials=self._round_trials,
            flops=self._flops,
            tasks=tuple(
                TaskRecord(
                    each.task.name, each.task.weight, each.task.flops, each.sketches.fingerprints
                )
                for each in self.tasks
            ),
            rounds=tuple(self._rounds),
            trials=tuple(self._trials),
            stopped="" if done or not self._rounds else self.tasks[self._rounds[-1].task].stopped,
        )

    def _standings(self) -> list[TaskStanding]:
        return [TaskStanding(t.task.weight, t.best_s, bool(t.stopped)) for t in self.tasks]

    def _draw(self, choices: int) -> int:
        """A number that a resumed run would draw as well."""
        return int(np.random.default_rng((self.seed, len(self._rounds))).integers(choices))

    def _restore(self, resumed: Sequence[RoundEntry]) -> None:
        """Learn what was learnt in rounds that a journal holds."""
        for entry in resumed:
            if entry.sketches != self.tasks[entry.round.task].sketches.fingerprints:
                raise ResumeError("its design space is another one than in the journal")
        last = resumed[-1].state
        try:
            batches = [
                unpack(entry.state.candidates, self.tasks[entry.round.task].task.mod)
                for entry in resumed
            ]
            self._random_state.load(last.numpy_state, last.numpy_position)
            for entry in resumed:
                self.tasks[entry.round.task].rng_state = entry.state.rng
        except (CandidateError, ValueError, KeyError, TypeError) as error:
            raise ResumeError(f"a round cannot be rebuilt: {error}") from None
        with self._random_state.installed():
            self._recall(resumed, batches)
            for entry, batch in zip(resumed, batches, strict=True):
                self._relive(entry, batch)
        # Learning anew may have drawn numbers that were drawn before.
        self._random_state.load(last.numpy_state, last.numpy_position)
        for entry in resumed:
            self.tasks[entry.round.task].rng_state = entry.state.rng

    def _recall(
        self, resumed: Sequence[RoundEntry], batches: Sequence[Sequence[Candidate]]
    ) -> None:
        for index, task in enumerate(self.tasks):
            proposed = [
                candidate
                for entry, batch in zip(resumed, batches, strict=True)
                if entry.round.task == index
                for candidate in batch
            ]
            task.recall(proposed)

    def _relive(self, entry: RoundEntry, batch: Sequence[Candidate]) -> None:
        """Go through a round of the journal once more, up to what it measured."""
        task = self.tasks[entry.round.task]
        if len(batch) != len(entry.trials):
            raise ResumeError(
                f"round {entry.round.index} has {len(batch)} candidates, expected one for "
                f"each of its {len(entry.trials)} trials"
            )
        for candidate, trial in zip(batch, entry.trials, strict=True):
            self._trials.append(trial)
            task.keep(trial, candidate)
        task.learn(batch, [_measured(trial) for trial in entry.trials], entry.trials)
        task.finish_round(len(batch))
        task.stopped = entry.stopped
        self._rounds.append(entry.round)

    def _measure(self, task: TaskSearch, candidates: Sequence[Candidate]) -> list[Measured]:
        """Build candidates, then run them one after the other, as many as the engine can hold."""
        outcomes = []
        for start in range(0, len(candidates), self._engine.capacity):
            part = candidates[start : start + self._engine.capacity]
            outcomes += self._measure_batch(task, part)
        return outcomes

    def _measure_batch(self, task: TaskSearch, candidates: Sequence[Candidate]) -> list[Measured]:
        with self._clock.phase("build"):
            built = self._engine.build([candidate.mod for candidate in candidates], task.task.check)
        outcomes: list[Measured] = []
        try:
            for candidate, each in zip(candidates, built, strict=True):
                outcomes.append(self._measure_one(task, candidate, each))
        finally:
            for each in built[len(outcomes) :]:
                self._engine.discard(each)
        return outcomes

    def _measure_one(self, task: TaskSearch, candidate: Candidate, built: Built) -> Measured:
        with self._clock.phase("run"):
            outcome = self._engine.run(
                built,
                candidate.args_info,
                self._measurement,
                best_s=task.best.latency_s if task.best else None,
            )
        trial = Trial(
            round=len(self._rounds) + 1,
            index=len(self._trials),
            status=outcome.status,
            latencies_s=outcome.latencies_s,
            sketch=task.sketches.of(candidate.schedule),
            search_s=self._clock.elapsed_s,
            error=outcome.error,
            build_s=outcome.build_s,
            run_s=outcome.run_s,
            peak_memory_mb=outcome.peak_memory_mb,
        )
        self._trials.append(trial)
        task.keep(trial, candidate)
        self._on_trial(self)
        return outcome

    def _finish_round(self, index: int, trials: int, restarts: int) -> None:
        decisions = self.tasks[index].finish_round(trials)
        seconds = self._clock.take_round()
        self._rounds.append(
            Round(
                index=len(self._rounds) + 1,
                propose_s=seconds["propose"],
                build_s=seconds["build"],
                run_s=seconds["run"],
                learn_s=seconds["learn"],
                decisions=dict(decisions),
                restarts=restarts,
                task=index,
            )
        )


def _measured(trial: Trial) -> Measured:
    """What the engine said of a trial that is on record."""
    return Measured(trial.status, trial.latencies_s, trial.error)
