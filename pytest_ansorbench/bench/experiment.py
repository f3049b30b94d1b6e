"""One case under several strategies, repeat by repeat: same seeds, same budget, in turn."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from pytest_ansorbench.bench.arms import AnySearch, Arm
from pytest_ansorbench.bench.history import CaseHistory, CaseJournal, RepeatHistory
from pytest_ansorbench.bench.plan import Plan
from pytest_ansorbench.bench.prepared import PreparedCase
from pytest_ansorbench.bench.progress import Progress, Standing
from pytest_ansorbench.bench.reference import StandIn
from pytest_ansorbench.bench.repeat import run_repeat
from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.stats.judge_case import judge_arms

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine


def judged(history: CaseHistory, plan: Plan) -> CaseResult:
    """The complete repeats of a case, compared and judged.

    Args:
        history: What there is of the case.
        plan: Which repeats count, and how to judge them.
    """
    entry = history.entry
    runs = tuple(run for seed in plan.repeats.seeds(history) for run in history.runs(seed))
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
        runs=runs,
        verdicts=verdicts,
        version=entry.version,
        control=entry.control,
        looks=str(plan.criteria.looks or ""),
        programs=entry.programs,
        yardsticks=tuple(history.yardsticks.values()),
    )


class Experiment:
    """Runs the repeats that a plan asks for, and feeds the journal.

    Each step goes to the journal before the next begins, and what the journal has of a repeat
    already is not done again.
    """

    def __init__(
        self,
        prepared: PreparedCase,
        strategies: Sequence[Arm],
        plan: Plan,
        engine: Engine,
        journal: CaseJournal,
        progress: Progress,
        stand_ins: Mapping[int, StandIn] = MappingProxyType({}),
    ) -> None:
        """Prepare an experiment; nothing runs yet.

        Args:
            prepared: What to tune.
            strategies: The arms, the reference first.
            plan: How.
            engine: Builds and measures for all arms.
            journal: Takes everything down.
            progress: Is told of every trial.
            stand_ins: By seed, recorded runs of the reference to use instead of new ones.
        """
        self._stand_ins = stand_ins
        self._prepared = prepared
        self._strategies = tuple(strategies)
        self._plan = plan
        self._engine = engine
        self._journal = journal
        self._progress = progress
        self._budget_trials = plan.runs.budget.in_all(len(prepared.tasks))
        self._trials_done = 0
        behind = sum(repeat.trials for repeat in journal.history.repeats.values())
        runs = plan.repeats.most * len(self._strategies) - len(stand_ins)
        self._trials_to_do = self._budget_trials * runs - behind
        self._started_s = time.monotonic()
        self._longest_s = 0.0
        self._settled = (0, 0)

    def run(self) -> None:
        """Run repeats until there are enough.

        Raises:
            EngineError: The engine is broken.
            ResumeError: The journal holds rounds of another case.
            StorageError: The journal cannot be written.
        """
        self._started_s = time.monotonic()
        try:
            while (seed := self._next_seed()) is not None:
                begun_s = time.monotonic()
                self._run_repeat(seed)
                self._longest_s = max(self._longest_s, time.monotonic() - begun_s)
        finally:
            self._progress.clear()

    def _next_seed(self) -> int | None:
        """The repeat to run, if it is wanted and there is time for another one like the others."""
        history, plan = self._journal.history, self._plan
        done = len(plan.repeats.seeds(history))
        if done and time.monotonic() + self._longest_s > plan.deadline_s:
            return None
        return plan.repeats.next_seed(history, self._judged)

    def _judged(self) -> CaseResult:
        """What there is, judged; how many gates that settles is shown."""
        result = judged(self._journal.history, self._plan)
        self._settled = sum(not gate.open for gate in result.gates), len(result.gates)
        return result

    def _run_repeat(self, seed: int) -> None:
        history = self._journal.history
        past = history.repeats.get(seed)
        place = len(self._plan.repeats.seeds(history))
        entries = run_repeat(
            self._prepared,
            seed,
            self._strategies,
            self._plan.runs,
            self._engine,
            label=self._journal.label,
            # By the seed, so that a shard's repeats begin as they would among all others.
            lead=seed,
            rounds=past.rounds if past else None,
            rankings=past.rankings if past else {},
            stand_in=self._stand_in(seed, past),
            on_trial=lambda search: self._report(search, place),
            on_finals=lambda: self._progress.note(
                f"{self._prepared.case.id}  measuring what was found, in turn"
            ),
        )
        for entry in entries:
            self._journal.append(entry)

    def _stand_in(self, seed: int, past: RepeatHistory | None) -> StandIn | None:
        """The recorded run that the journal has, or else one that may be used."""
        if past is None or (past.recorded is None and not past.rounds):
            return self._stand_ins.get(seed)
        entry = past.recorded
        return StandIn(entry.run, entry.created, entry.first_round_s) if entry else None

    def _report(self, search: AnySearch, place: int) -> None:
        self._trials_done += 1
        self._progress.update(
            Standing(
                case=self._prepared.case.id,
                strategy=search.strategy.name,
                repeat=place + 1,
                repeats=self._plan.repeats.most,
                settled=self._settled,
                run_trials=len(search.trials),
                budget_trials=self._budget_trials,
                best_gflops=search.best_gflops,
                task=_task_of(search),
                estimated_s=search.estimated_s if len(search.tasks) > 1 else None,
                trials_done=self._trials_done,
                trials_total=self._trials_to_do,
                elapsed_s=time.monotonic() - self._started_s,
            )
        )


def _task_of(search: AnySearch) -> str:
    """The task that a search of several is at, e.g. `7/23 fused_conv2d_add_relu`."""
    if len(search.tasks) == 1 or search.current is None:
        return ""
    place = next(at for at, task in enumerate(search.tasks, 1) if task is search.current)
    return f"{place}/{len(search.tasks)} {search.current.task.name}"
