"""One case under several strategies: same seeds, same budget, in turn."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ansorbench.bench.finals import Finals
from pytest_ansorbench.bench.history import CaseHistory, CaseJournal, RepeatHistory
from pytest_ansorbench.bench.progress import Progress, Standing
from pytest_ansorbench.budget import Budget
from pytest_ansorbench.measure.machine_state import observe_machine
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.search.loop import Search
from pytest_ansorbench.search.scheduling import SCHEDULERS
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judge_case import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage.entries import FinalEntry, RepeatEntry, RoundEntry

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Case, Task


@dataclass(frozen=True)
class Plan:
    """How an experiment is run and judged.

    Attributes:
        budget: Trials of one run and of one round.
        repeats: Runs of each strategy.
        seed: Seed of the first repeat; the others count up from it.
        order: Whether arms take turns by rounds or by whole runs.
        scheduler: Shares rounds out among the tasks of a network; a key of `SCHEDULERS`.
        final_samples: Samples of each winner's final measurement.
        criteria: How runs are compared and judged.
        limits: The gates.
        family: How many gates the session has.
    """

    budget: Budget
    repeats: int
    seed: int
    order: Literal["interleaved", "sequential"]
    scheduler: str
    final_samples: int
    criteria: Criteria
    limits: Limits
    family: int = 1

    @property
    def seeds(self) -> range:
        """One for each repeat."""
        return range(self.seed, self.seed + self.repeats)

    def measured(self, tasks: int) -> dict[str, Any]:
        """What of it decides the measurements; the rest may change when a run goes on.

        Args:
            tasks: How many tasks the case has.
        """
        return {
            "trials": self.budget.in_all(tasks),
            "round_trials": self.budget.a_round(tasks),
            "order": self.order,
            "scheduler": self.scheduler if tasks > 1 else "",
            "final_samples": self.final_samples,
        }


def judged(history: CaseHistory, plan: Plan) -> CaseResult:
    """The repeats of a plan that are complete, compared and judged.

    Args:
        history: What there is of the case.
        plan: Which repeats, and how to judge them.
    """
    entry = history.entry
    runs = [run for seed in plan.seeds if history.complete(seed) for run in history.runs(seed)]
    verdicts = judge_arms(
        entry.strategies,
        runs,
        criteria=plan.criteria,
        limits=plan.limits,
        control=entry.control,
        family=plan.family,
    )
    return CaseResult(
        case=entry.case,
        strategies=entry.strategies,
        runs=tuple(runs),
        verdicts=verdicts,
        version=entry.version,
        control=entry.control,
    )


class Experiment:
    """Runs all arms of a case, repeat by repeat.

    Each step goes to the journal before the next begins, and what the journal has of a repeat
    already is not done again.
    """

    def __init__(
        self,
        case: Case,
        tasks: Sequence[Task],
        strategies: Sequence[Strategy],
        plan: Plan,
        engine: Engine,
        finals: Finals,
        journal: CaseJournal,
        progress: Progress,
    ) -> None:
        """Prepare an experiment; nothing runs yet.

        Args:
            case: What to tune.
            tasks: Its tasks.
            strategies: The arms, the reference first.
            plan: How.
            engine: Builds and measures for all arms.
            finals: Measures what the searches came to.
            journal: Takes everything down.
            progress: Is told of every trial.
        """
        self._case = case
        self._tasks = tuple(tasks)
        self._strategies = tuple(strategies)
        self._journal = journal
        self._plan = plan
        self._engine = engine
        self._finals = finals
        self._budget_trials = plan.budget.in_all(len(tasks))
        self._progress = progress
        self._trials_done = 0
        behind = sum(
            len(entry.trials)
            for past in journal.history.repeats.values()
            for rounds in past.rounds.values()
            for entry in rounds
        )
        runs = plan.repeats * len(self._strategies)
        self._trials_to_do = self._budget_trials * runs - behind
        self._started_s = time.monotonic()

    def run(self) -> None:
        """Run every repeat of every arm."""
        self._started_s = time.monotonic()
        try:
            for repeat in range(self._plan.repeats):
                self._run_repeat(repeat)
        finally:
            self._progress.clear()

    def _run_repeat(self, repeat: int) -> None:
        seed = self._plan.seeds[repeat]
        past = self._journal.repeat(seed)
        if past is None:
            self._journal.append(RepeatEntry(self._journal.label, seed, observe_machine()))
            past = self._journal.history.repeats[seed]
        if past.final is None:
            self._finish_repeat(repeat, past)

    def _finish_repeat(self, repeat: int, past: RepeatHistory) -> None:
        searches = [
            self._search(strategy, repeat, tuple(past.rounds.get(strategy.name, ())))
            for strategy in self._strategies
        ]
        if self._plan.order == "interleaved":
            self._take_turns(searches, lead=repeat)
        else:
            for search in _rotated(searches, repeat):
                self._take_turns([search], lead=0)
        self._progress.note(f"{self._case.id}  measuring what was found, in turn")
        finals = self._finals.measure(searches, self._plan.final_samples)
        self._journal.append(
            FinalEntry(self._journal.label, self._plan.seeds[repeat], finals, observe_machine())
        )

    def _take_turns(self, searches: Sequence[Search], *, lead: int) -> None:
        """Step the searches round by round until all are finished, each leading in turn.

        Searches that go on from a journal may be a round apart: those ahead wait for their turn.
        """
        for turn in itertools.count():
            if all(search.finished for search in searches):
                return
            for search in _rotated(searches, lead + turn):
                if search.rounds_done == turn and not search.finished:
                    search.step()
                    self._journal.append(search.last_round(self._journal.label))

    def _search(self, strategy: Strategy, repeat: int, resumed: Sequence[RoundEntry]) -> Search:
        return Search(
            self._case,
            self._tasks,
            strategy,
            self._engine,
            seed=self._plan.seeds[repeat],
            budget_trials=self._budget_trials,
            round_trials=self._plan.budget.a_round(len(self._tasks)),
            scheduler=SCHEDULERS[self._plan.scheduler],
            on_trial=lambda search: self._report(search, repeat),
            resumed=resumed,
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
                budget_trials=self._budget_trials,
                best_gflops=search.best_gflops,
                task=_task_of(search),
                estimated_s=search.estimated_s if len(search.tasks) > 1 else None,
                trials_done=self._trials_done,
                trials_total=self._trials_to_do,
                elapsed_s=time.monotonic() - self._started_s,
            )
        )


def _rotated(searches: Sequence[Search], by: int) -> list[Search]:
    start = by % len(searches)
    return [*searches[start:], *searches[:start]]


def _task_of(search: Search) -> str:
    """The task that a search of several is at, e.g. `7/23 fused_conv2d_add_relu`."""
    if len(search.tasks) == 1 or search.current is None:
        return ""
    place = search.tasks.index(search.current) + 1
    return f"{place}/{len(search.tasks)} {search.current.task.name}"
