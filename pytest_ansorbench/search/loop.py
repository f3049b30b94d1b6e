"""One search: rounds of propose, build, run and learn over the tasks of a case."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pytest_ansorbench.budget import planned_trials, spent_share
from pytest_ansorbench.measure.outcomes import Built, Measured
from pytest_ansorbench.measure.policy import ComparingMeasurement
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.records import LastRanking, Round, Trial
from pytest_ansorbench.search.checkpoint import last_round, restore, restore_winners
from pytest_ansorbench.search.incumbent import Incumbent
from pytest_ansorbench.search.last_check import rank_tasks
from pytest_ansorbench.search.random_state import PrivateRandomState
from pytest_ansorbench.search.run_state import Clock, RunState
from pytest_ansorbench.search.task_search import Shared, TaskSearch
from pytest_ansorbench.storage.entries import LastCheckEntry, RoundEntry
from pytest_ansorbench.strategies.checked import checked_measurement, start_cost_model
from pytest_ansorbench.strategies.scheduling import GradientScheduler, TaskScheduler, TaskState

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.strategies.candidate import Candidate
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Task


class Search:
    """One run in the making: call `step` until it is finished, `rank` if a last check is due.

    Random state, database, cost model and policies belong to this object alone; only the
    measurement engine is shared with other searches. Tasks share the run's budget, clock,
    database and cost model, and each has policies of its own. A search that is not finished may
    hold processes of its engine, which `close` lets go.
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
        run_time_s: float | None = None,
        scheduler: TaskScheduler = GradientScheduler(),  # noqa: B008 - frozen
        on_trial: Callable[[Search], None] = lambda search: None,
        resumed: Sequence[RoundEntry] = (),
        ranking: LastRanking | None = None,
    ) -> None:
        """Set up the design spaces and what was learnt in earlier rounds; costs no search time.

        `tasks` may have checks that those of the case have not; `on_trial` is called outside the
        clock; `resumed` are the rounds that this run has behind it, and `ranking` its last check.
        """
        from tvm.s_tir.meta_schedule.database import MemoryDatabase

        self.strategy = strategy
        self.budget_trials = budget_trials
        self.run_time_s = run_time_s
        self.current: TaskSearch | None = None
        self._flops = case.flops
        self._engine = engine
        self._round_trials = round_trials
        self._scheduler = scheduler
        self._measurement = checked_measurement(strategy)
        self._on_trial = on_trial
        random_state = PrivateRandomState(seed)
        with random_state.installed():
            shared = Shared(
                target=engine.target,
                strategy=strategy,
                database=MemoryDatabase(),
                cost_model=start_cost_model(strategy),
                seed=seed,
                budget_trials=planned_trials(budget_trials, run_time_s),
                round_trials=round_trials,
                run_time_s=run_time_s,
                tasks=len(tasks),
            )
            searches = [
                TaskSearch(task, shared, index=index, rounds_done=len(resumed))
                for index, task in enumerate(tasks)
            ]
        check_s = ranking.check_s if ranking else 0.0
        clock = Clock(elapsed_s=sum(entry.round.search_s for entry in resumed) + check_s)
        self._state = RunState(seed, tuple(searches), clock, random_state)
        if resumed:
            restore(self._state, resumed)
        self.ranking = ranking
        if ranking is not None:
            restore_winners(self._state, ranking)
        self._incumbents = [
            Incumbent(engine, missing=search.best is not None) for search in self.tasks
        ]

    @property
    def tasks(self) -> Sequence[TaskSearch]:
        return self._state.tasks

    @property
    def finished(self) -> bool:
        return self.spent >= 1.0 or all(task.stopped for task in self.tasks)

    @property
    def spent(self) -> float:
        """Share of the budget, of trials or seconds."""
        return spent_share(len(self.trials), self.search_s, self.budget_trials, self.run_time_s)

    @property
    def rounds(self) -> Sequence[Round]:
        return self._state.rounds

    @property
    def trials(self) -> Sequence[Trial]:
        return self._state.trials

    @property
    def search_s(self) -> float:
        return self._state.clock.elapsed_s

    @property
    def estimated_s(self) -> float | None:
        """Latency of the case by its tasks' best so far; None while one has no valid trial."""
        total_s = 0.0
        for search in self.tasks:
            if search.best is None:
                return None
            total_s += search.task.weight * search.best.latency_s
        return total_s

    @property
    def best_gflops(self) -> float:
        """Throughput of the case by its tasks' best so far, in GFLOP/s; 0 while one has none."""
        estimated_s = self.estimated_s
        return self._flops / estimated_s / 1e9 if estimated_s else 0.0

    def step(self) -> None:
        """Run one round of one task. Does nothing once the search is finished."""
        if self.finished:
            return
        state, restarts_before = self._state, self._engine.restarts
        index = self._scheduler.next_task(self._task_states(), self._draw)
        task = self.current = self.tasks[index]
        wanted = self._wanted()
        with state.random_state.installed(), state.clock.phase("propose"):
            state.candidates = task.propose(wanted)
        measured = self._measure(task, self._incumbents[index], state.candidates)
        with state.random_state.installed(), state.clock.phase("learn"):
            task.learn(
                state.candidates, measured, state.trials[len(state.trials) - len(measured) :]
            )
        state.finish_round(index, restarts=self._engine.restarts - restarts_before)
        if self.finished:
            self.close()

    @property
    def last_check_due(self) -> bool:
        """Whether `rank` is to be called before the winner counts."""
        return self.finished and self.strategy.last_check is not None and self.ranking is None

    def rank(self) -> None:
        """Do the last check, on the clock, if one is due."""
        policy = self.strategy.last_check
        if policy is None or not self.last_check_due:
            return
        clock = self._state.clock
        before_s, started_s = clock.elapsed_s, time.perf_counter()

        def late() -> bool:
            return time.perf_counter() - started_s >= policy.share * before_s

        with clock.phase("check"):
            rankings = rank_tasks(self.tasks, self._engine, policy, late)
        self.ranking = LastRanking(clock.elapsed_s - before_s, rankings)

    def close(self) -> None:
        """Let go of the engine's processes."""
        for incumbent in self._incumbents:
            incumbent.close()

    def last_round(self, label: str) -> RoundEntry:
        """The last round as the journal keeps it, with all it takes to go on from there."""
        return last_round(self._state, label=label, strategy=self.strategy.name)

    def last_check(self, label: str) -> LastCheckEntry:
        assert self.ranking is not None
        return LastCheckEntry(label, self._state.seed, self.strategy.name, self.ranking)

    def _task_states(self) -> list[TaskState]:
        return [TaskState(task.task.weight, task.best_s, bool(task.stopped)) for task in self.tasks]

    def _wanted(self) -> int:
        """Trials of the next round; of the last one those for which something is left.

        Of the time that is left, each task without a round gets its share.
        """
        wanted = min(self._round_trials, self.budget_trials - len(self.trials))
        if self.run_time_s is None or not self.trials:
            return wanted
        left = (self.run_time_s - self.search_s) * len(self.trials) / self.search_s
        waiting = len(self.tasks) - len({one.task for one in self.rounds})
        return max(1, min(wanted, math.ceil(left / max(1, waiting))))

    def _draw(self, choices: int) -> int:
        """A number that a resumed run would draw as well."""
        rng = np.random.default_rng((self._state.seed, len(self.rounds)))
        return int(rng.integers(choices))

    def _measure(
        self, task: TaskSearch, incumbent: Incumbent, candidates: Sequence[Candidate]
    ) -> list[Measured]:
        """Build candidates, then run them one after the other, as many as the engine can hold."""
        outcomes = []
        for start in range(0, len(candidates), self._engine.capacity):
            part = candidates[start : start + self._engine.capacity]
            outcomes += self._measure_batch(task, incumbent, part)
        return outcomes

    def _measure_batch(
        self, task: TaskSearch, incumbent: Incumbent, candidates: Sequence[Candidate]
    ) -> list[Measured]:
        limit, around = self.strategy.build_limit, task.task.surroundings
        took_s = [trial.build_s for trial in self.trials if trial.build_s]
        with self._state.clock.phase("build"):
            built = self._engine.build(
                [Program.kernel(c.mod, c.args_info, around) for c in candidates],
                task.task.check,
                limit_s=limit.limit_s(took_s) if limit is not None else None,
            )
        outcomes: list[Measured] = []
        try:
            for candidate, program in zip(candidates, built, strict=True):
                outcomes.append(self._measure_one(task, incumbent, candidate, program))
        finally:
            for program in built[len(outcomes) :]:
                self._engine.discard(program)
        return outcomes

    def _measure_one(
        self, task: TaskSearch, incumbent: Incumbent, candidate: Candidate, built: Built
    ) -> Measured:
        best, clock = task.best, self._state.clock
        if best is not None and isinstance(self._measurement, ComparingMeasurement):
            with clock.phase("build"):
                incumbent.restore(best, task.task)
        with clock.phase("run"):
            outcome = self._engine.run(
                built,
                self._measurement,
                best_s=best.latency_s if best else None,
                incumbent=incumbent.built,
            )
            if outcome.lost_incumbent:
                incumbent.lose()
        trial = Trial(
            round=len(self.rounds) + 1,
            index=len(self.trials),
            status=outcome.status,
            latencies_s=outcome.latencies_s,
            sketch=task.sketches.of(candidate.trace),
            search_s=self.search_s,
            error=outcome.error,
            build_s=outcome.build_s,
            run_s=outcome.run_s,
            peak_memory_mb=outcome.peak_memory_mb,
        )
        self._state.trials.append(trial)
        task.keep(trial, candidate)
        if task.best is not best:
            with clock.phase("run"):
                incumbent.succeed(outcome.kept)
        self._on_trial(self)
        return outcome
