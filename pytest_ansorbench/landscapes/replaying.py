"""Searches of landscapes: strategies propose for real, and what they measure was recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import numpy as np

from pytest_ansorbench.budget import planned_trials, spent_share
from pytest_ansorbench.landscapes.recorded import RecordedDesign
from pytest_ansorbench.landscapes.records import Landscape
from pytest_ansorbench.records import (
    SCHEMA_VERSION,
    CaseResult,
    Remeasurement,
    Result,
    Round,
    Run,
    Trial,
)
from pytest_ansorbench.search.task_search import MAX_EMPTY_ROUNDS
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.storage import fingerprint
from pytest_ansorbench.strategies import (
    Candidate,
    Observation,
    Strategy,
    StrategyError,
)
from pytest_ansorbench.strategies.checked import CheckedProposer
from pytest_ansorbench.strategies.proposer import DecisionPolicy


@dataclass(frozen=True)
class Plan:
    """How searches are made, the same for all."""

    trials: int
    round_trials: int
    repeats: int
    run_time_s: float | None = None  # recorded seconds after which no round begins
    seed: int = 0  # of the first repeat


@dataclass(frozen=True)
class _Setup:
    """A `PointSetup` without programs."""

    design: RecordedDesign
    budget_trials: int
    rng: np.random.Generator
    context: None = None
    cost_model: None = None
    tasks: int = 1

    def design_space(self) -> RecordedDesign:
        return self.design


def replay(
    landscapes: Sequence[Landscape],
    strategies: Sequence[Strategy],
    plan: Plan,
    tell: Callable[[Run, float], None] = lambda run, proposing_s: None,
) -> Result:
    """Search landscapes by several strategies.

    Args:
        landscapes: Different ones, in any order.
        strategies: The reference first.
        plan: How.
        tell: Is told of each run, with the seconds that proposing and learning took.

    Raises:
        StrategyError: A strategy takes more than points, or answers what it may not.
    """
    for strategy in strategies:
        _expect_points(strategy)
    ordered = sorted(landscapes, key=lambda one: (one.subject.case, one.fingerprint))
    machines = {fingerprint(one.subject.machine): one.subject.machine for one in ordered}
    return Result(
        schema_version=SCHEMA_VERSION,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machines=machines,
        commit={},
        settings={
            "landscapes": [one.fingerprint for one in ordered],
            "strategies": [one.name for one in strategies],
            "trials": plan.trials,
            "round_trials": plan.round_trials,
            "repeats": plan.repeats,
            "run_time_s": plan.run_time_s,
            "seed": plan.seed,
        },
        cases=tuple(_case(one, strategies, plan, tell) for one in ordered),
    )


def _case(
    landscape: Landscape,
    strategies: Sequence[Strategy],
    plan: Plan,
    tell: Callable[[Run, float], None],
) -> CaseResult:
    design, runs = RecordedDesign(landscape), []
    for seed in range(plan.seed, plan.seed + plan.repeats):
        for strategy in strategies:
            search = _Search(landscape, design, strategy, plan, seed)
            runs.append(search.run())
            tell(runs[-1], search.proposing_s)
    names, subject = tuple(one.name for one in strategies), landscape.subject
    return CaseResult(
        case=subject.case,
        strategies=names,
        runs=tuple(runs),
        verdicts=judge_arms(names, runs, Criteria(), Limits()),
        version=subject.version,
        programs=(subject.program,),
        definition=subject.definition,
    )


def _expect_points(strategy: Strategy) -> None:
    if not isinstance(strategy.proposer, DecisionPolicy):
        raise StrategyError(
            f"bad strategy {strategy.name!r}: it makes programs by MetaSchedule, which a landscape "
            "cannot; expected a search of decisions, e.g. draft, and this one as recorded runs of "
            "the same task"
        )


class _Search:
    """One run in the making."""

    def __init__(
        self,
        landscape: Landscape,
        design: RecordedDesign,
        strategy: Strategy,
        plan: Plan,
        seed: int,
    ) -> None:
        self._landscape, self._design, self._plan = landscape, design, plan
        self._strategy, self._seed = strategy, seed
        planned = planned_trials(plan.trials, plan.run_time_s)
        # As for the only task of a search on a machine.
        setup = _Setup(design, planned, np.random.default_rng((seed, 0)))
        self._proposer = CheckedProposer(strategy, setup, programs=False)
        # The slice of each point that is seen: in a repeat the same for all strategies.
        self._slices = np.random.default_rng((seed, 1)).random(len(landscape.results)).tolist()
        self._search_s = 0.0
        self._rounds: list[Round] = []
        self._trials: list[Trial] = []
        self._places: list[int] = []
        self.proposing_s = 0.0

    def run(self) -> Run:
        stopped, empty_rounds = "", 0
        while not stopped and self._spent < 1.0:
            started_s = time.perf_counter()
            batch = self._proposer.propose(self._wanted)
            propose_s = time.perf_counter() - started_s
            if batch is None:
                stopped = "the strategy proposes nothing more"
            batch = batch or []
            self._measure(batch[: self._wanted], propose_s)
            empty_rounds += not batch and not stopped
            if empty_rounds >= MAX_EMPTY_ROUNDS:
                stopped = f"{MAX_EMPTY_ROUNDS} rounds without a new candidate"
        return self._record(stopped)

    @property
    def _spent(self) -> float:
        plan = self._plan
        return spent_share(len(self._trials), self._search_s, plan.trials, plan.run_time_s)

    @property
    def _wanted(self) -> int:
        return min(self._plan.round_trials, self._plan.trials - len(self._trials))

    def _measure(self, batch: Sequence[Candidate], propose_s: float) -> None:
        """Look a round up; its clock has recorded seconds only."""
        landscape, flops = self._landscape, self._landscape.subject.task.flops
        points = [self._design.point(one.payload) for one in batch]
        records = [self._design.record(point) for point in points]
        compiled_s = sum(one.times.compilation_time for one in records)
        build_s = compiled_s / landscape.builds_at_once
        self._search_s += build_s
        number, observations = len(self._rounds) + 1, []
        for candidate, point, record in zip(batch, points, records, strict=True):
            assert record.status is not None, "a point without a program was proposed"
            times, place = record.times, self._design.place(point)
            slice_at = int(self._slices[place] * len(times.runtimes))
            self._search_s += times.benchmark_time
            trial = Trial(
                round=number,
                index=len(self._trials),
                status=record.status,
                latencies_s=times.runtimes[slice_at : slice_at + 1],
                sketch=point[0],
                search_s=self._search_s,
                error=record.error,
                build_s=times.compilation_time,
                run_s=times.benchmark_time,
            )
            self._trials.append(trial)
            self._places.append(place)
            gflops = flops / trial.latency_s / 1e9 if trial.latency_s else 0.0
            observations.append(Observation(candidate, None, point[0], gflops))
        started_s = time.perf_counter()
        if batch:
            self._proposer.learn(observations)
        learn_s = time.perf_counter() - started_s
        self.proposing_s += propose_s + learn_s
        run_s = sum(one.times.benchmark_time for one in records)
        decisions = self._proposer.decisions()
        self._rounds.append(Round(number, 0.0, build_s, run_s, 0.0, decisions))

    def _record(self, stopped: str) -> Run:
        subject, plan = self._landscape.subject, self._plan
        leads = self._leads()
        nothing = Remeasurement(None, "run-error", (), "no valid trial")
        return Run(
            case=subject.case,
            strategy=self._strategy.name,
            seed=self._seed,
            budget_trials=plan.trials,
            round_trials=plan.round_trials,
            flops=subject.task.flops,  # of one call, as all latencies are
            tasks=(replace(subject.task, weight=1),),
            rounds=tuple(self._rounds),
            trials=tuple(self._trials),
            final=leads[-1] if leads else nothing,
            stopped=stopped,
            machine=fingerprint(subject.machine),
            leads=leads,
            run_time_s=plan.run_time_s,
            landscape=self._landscape.fingerprint,
        )

    def _leads(self) -> tuple[Remeasurement, ...]:
        """Every trial that was the best so far, with the median of its program's slices.

        No turns: points were recorded at random moments.
        """
        found, best_s = [], float("inf")
        for trial, place in zip(self._trials, self._places, strict=True):
            if trial.latency_s is not None and trial.latency_s < best_s:
                best_s = trial.latency_s
                latency_s = self._landscape.results[place].latency_s
                found.append(Remeasurement(trial.index, "ok", (latency_s,)))
        return tuple(found)
