"""One case under several strategies: same seeds, same budget, in turn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pytest_ansorbench.bench.progress import Progress, Silent, Standing
from pytest_ansorbench.measure.machine_state import observe_machine
from pytest_ansorbench.records import CaseResult, Run
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.stats import Limits, judge_case

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Task


@dataclass(frozen=True)
class Plan:
    """How an experiment is run and judged.

    Attributes:
        trials: Trials of one run.
        round_trials: Trials of one round.
        repeats: Runs of each strategy.
        seed: Seed of the first repeat; the others count up from it.
        order: Whether arms take turns by rounds or by whole runs.
        final_samples: Samples of each winner's final measurement.
        tolerance: Share of throughput that a target stays below what it is derived from.
        confidence: Confidence level of intervals.
        limits: The gates.
    """

    trials: int
    round_trials: int
    repeats: int
    seed: int
    order: Literal["interleaved", "sequential"]
    final_samples: int
    tolerance: float
    confidence: float
    limits: Limits


class UnsupportedCaseError(ValueError):
    """A case that this version cannot tune."""


class Experiment:
    """Runs all arms of a case, repeat by repeat, and keeps what is complete.

    Interrupted, it still gives the result of the repeats that were finished.
    """

    def __init__(
        self,
        case: Case,
        strategies: Sequence[Strategy],
        plan: Plan,
        engine: Engine,
        progress: Progress | None = None,
    ) -> None:
        """Prepare an experiment; nothing runs yet.

        Args:
            case: What to tune.
            strategies: The arms, the reference first.
            plan: How.
            engine: Builds and measures for all arms.
            progress: Is told of every trial.

        Raises:
            UnsupportedCaseError: The case has several tasks.
        """
        tasks = case.tasks()
        if len(tasks) != 1:
            raise UnsupportedCaseError(
                f"bad case {case.id!r}: it has {len(tasks)} tasks, expected one, e.g. an operator"
            )
        self._case = case
        self._task: Task = tasks[0]
        self._strategies = tuple(strategies)
        self._plan = plan
        self._engine = engine
        self._progress: Progress = progress or Silent()
        self._runs: list[Run] = []
        self._trials_done = 0
        self._started_s = time.monotonic()

    def run(self) -> CaseResult:
        """Run every repeat of every arm, and judge."""
        self._started_s = time.monotonic()
        try:
            for repeat in range(self._plan.repeats):
                self._run_repeat(repeat)
        finally:
            self._progress.clear()
        return self.result()

    def result(self) -> CaseResult:
        """The repeats that are complete, compared and judged."""
        return judge_case(
            self._case.id,
            [strategy.name for strategy in self._strategies],
            self._runs,
            tolerance=self._plan.tolerance,
            confidence=self._plan.confidence,
            limits=self._plan.limits,
        )

    def _run_repeat(self, repeat: int) -> None:
        searches = [self._search(strategy, repeat) for strategy in self._strategies]
        before = observe_machine()
        if self._plan.order == "interleaved":
            self._take_turns(searches, lead=repeat)
        else:
            for search in _rotated(searches, repeat):
                self._take_turns([search], lead=0)
        finals = self._engine.remeasure(
            [search.winner for search in searches],
            self._task.check,
            samples=self._plan.final_samples,
        )
        for search, final in zip(searches, finals, strict=True):
            search.record_final(final)
        after = observe_machine()
        self._runs += [replace(search.record(), before=before, after=after) for search in searches]

    def _take_turns(self, searches: Sequence[Search], *, lead: int) -> None:
        """Step the searches round by round until all are finished, each leading in turn."""
        while not all(search.finished for search in searches):
            for search in _rotated(searches, lead):
                search.step()
            lead += 1

    def _search(self, strategy: Strategy, repeat: int) -> Search:
        return Search(
            self._task,
            strategy,
            self._engine,
            case=self._case.id,
            seed=self._plan.seed + repeat,
            budget_trials=self._plan.trials,
            round_trials=self._plan.round_trials,
            on_trial=lambda search: self._report(search, repeat),
        )

    def _report(self, search: Search, repeat: int) -> None:
        self._trials_done += 1
        self._progress.update(
            Standing(
                case=self._case.id,
                strategy=search.strategy.name,
                repeat=repeat + 1,
                repeats=self._plan.repeats,
                run_trials=search.trials_done,
                budget_trials=self._plan.trials,
                best_gflops=search.best_gflops,
                trials_done=self._trials_done,
                trials_total=self._plan.trials * self._plan.repeats * len(self._strategies),
                elapsed_s=time.monotonic() - self._started_s,
            )
        )


def _rotated(searches: Sequence[Search], by: int) -> list[Search]:
    start = by % len(searches)
    return [*searches[start:], *searches[:start]]
