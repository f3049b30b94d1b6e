"""Strategies without pytest: as arguments of MetaSchedule's `tune_tir` and `tune_relax`."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.search.sketches import SketchIndex
from pytest_ansorbench.search.task_search import MAX_EMPTY_ROUNDS
from pytest_ansorbench.strategies import (
    Candidate,
    Observation,
    Registry,
    Setup,
    Strategy,
)
from pytest_ansorbench.strategies.checked import (
    CheckedProposer,
    checked_sketches,
    start_cost_model,
    start_space,
)
from pytest_ansorbench.strategies.program_model import latency_s

if TYPE_CHECKING:
    from tvm.s_tir import Schedule
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.s_tir.meta_schedule.database import Database
    from tvm.s_tir.meta_schedule.runner import RunnerResult
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate, SearchStrategy
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator
    from tvm.target import Target


class TuneParts(TypedDict):
    """Keyword arguments for `ms.tune_tir`, `ms.relax_integration.tune_relax` and their like."""

    space: SpaceGenerator
    strategy: SearchStrategy
    cost_model: CostModel


def tune_parts(
    strategy: str | Strategy, target: Target | dict[str, Any] | str, *, seed: int = 0
) -> TuneParts:
    """A strategy as the arguments by which MetaSchedule's own functions take it.

        ms.tune_tir(mod, target, work_dir, 256, **tune_parts("optimized", target))

    These are the policies that run under `pytest --ansor-bench`, started with the caller's
    context, database and cost model. A strategy's measurement policy, build limit, last check and
    scheduler have no effect here: the caller's builder, runner and task scheduler replace them.

    Args:
        strategy: A `Strategy`, or the name of a shipped or installed one.
        target: TVM target, as the call gets it.
        seed: Seed of the policies' random numbers; each task gets a generator of its own.

    Returns:
        `space`, `strategy` and `cost_model`. Make new ones for each call: a cost model keeps
        what it has learnt.

    Raises:
        StrategyError: No strategy has this name, or an entry point cannot be loaded.
        ValueError: TVM knows no such target.
    """
    from tvm.s_tir.meta_schedule.cost_model import CostModel
    from tvm.target import Target as TVMTarget

    chosen = strategy if isinstance(strategy, Strategy) else Registry.installed().get(strategy)
    # Refused here rather than in the middle of the call, where TVM would parse all intrinsics.
    resolved = TVMTarget(target)
    register_intrinsics(resolved)
    model = start_cost_model(chosen) or CostModel.create("random")
    return {
        "space": start_space(chosen, resolved),
        "strategy": search_strategy(chosen, cost_model=model, seed=seed),
        "cost_model": model,
    }


def search_strategy(
    strategy: Strategy,
    *,
    cost_model: CostModel | None = None,
    seed: int = 0,
) -> SearchStrategy:
    """A strategy's proposer as the `strategy` argument of MetaSchedule's functions.

    The cost model is the one that it will be used with: TVM passes a cost model on without its
    Python attributes, such as whether it is trained yet, so policies get this one instead.
    """
    from tvm.ir.utils import derived_object
    from tvm.s_tir.analysis import estimate_tir_flops
    from tvm.s_tir.meta_schedule.search_strategy import PySearchStrategy

    known = cost_model

    @derived_object
    class ProposerSearch(PySearchStrategy):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._context: Any = None
            self._task: _Task | None = None

        def _initialize_with_tune_context(self, context: TuneContext) -> None:
            self._context = context

        def pre_tuning(
            self,
            max_trials: int,
            num_trials_per_iter: int,
            design_spaces: Sequence[Schedule],
            database: Database | None = None,
            cost_model: CostModel | None = None,
        ) -> None:
            sketches = checked_sketches(strategy, self._context, design_spaces)
            name = zlib.crc32(str(self._context.task_name).encode())
            setup = Setup(
                context=self._context,
                sketches=sketches,
                database=database,
                cost_model=known if cost_model == known else cost_model,
                budget_trials=max_trials,
                round_trials=num_trials_per_iter,
                rng=np.random.default_rng([seed, name]),
            )
            self._task = _Task(
                setup,
                CheckedProposer(strategy, setup),
                SketchIndex(sketches),
                estimate_tir_flops(self._context.mod),
            )

        def post_tuning(self) -> None:
            self._task = None

        def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
            return self._tuned().candidates()

        def notify_runner_results(
            self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
        ) -> None:
            self._tuned().learn(measure_candidates, results)

        def clone(self) -> SearchStrategy:
            return search_strategy(strategy, cost_model=known, seed=seed)

        def _tuned(self) -> _Task:
            if self._task is None:
                raise RuntimeError("expected a call of pre_tuning first")
            return self._task

    return ProposerSearch()


@dataclass
class _Task:
    """One task that is being tuned."""

    setup: Setup
    proposer: CheckedProposer
    sketches: SketchIndex
    flops: float
    trials: int = 0
    empty_rounds: int = 0
    proposed: list[Candidate] = field(default_factory=list)  # in the last round

    def candidates(self) -> list[MeasureCandidate] | None:
        wanted = min(self.setup.round_trials, self.setup.budget_trials - self.trials)
        if wanted <= 0:
            return None
        proposed = self.proposer.propose(wanted)
        if proposed is None:
            return None
        self.empty_rounds += not proposed
        if self.empty_rounds >= MAX_EMPTY_ROUNDS:
            return None
        self.proposed = list(proposed)[:wanted]
        self.trials += len(self.proposed)
        return [candidate.measure_candidate for candidate in self.proposed]

    def learn(self, measured: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        # TVM hands the same objects back, without what Python knows of them.
        known = {candidate.measure_candidate: candidate for candidate in self.proposed}
        self.proposer.learn(
            [
                Observation(
                    known[candidate],
                    result,
                    self.sketches.of(known[candidate].trace),
                    self.flops / latency_s(result) / 1e9,
                )
                for candidate, result in zip(measured, results, strict=True)
            ]
        )
