"""Proposers over MetaSchedule's evolutionary search: the engine's own, and a steered one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.strategies.sketch_policy import SketchPolicy, UniformSketches
from pytest_ansorbench.strategies.strategy import Observation, Proposer, Setup

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch, MeasureCandidate

_ENGINE: Final = "s_tir.meta_schedule.SearchStrategyEvolutionarySearch"
_EVOLVE: Final = f"{_ENGINE}EvolveWithCostModel"


@dataclass(frozen=True)
class StockEvolution:
    """MetaSchedule's evolutionary search as it is, with its stock parameters."""

    def engine(self) -> EvolutionarySearch:
        """The search itself: population 512, 4 generations."""
        from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch

        return EvolutionarySearch()

    def start(self, setup: Setup) -> Proposer:
        """Hand the design space to the engine."""
        return _StockEvolution(setup)


class _StockEvolution:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._context = setup.context
        _pre_tune(setup.context.search_strategy, setup, setup.sketches)

    def propose(self, trials: int) -> Sequence[MeasureCandidate] | None:
        candidates = self._context.generate_measure_candidates()
        return None if candidates is None else list(candidates)

    def recall(self, candidates: Sequence[MeasureCandidate]) -> None:
        mark_as_measured(self._context.search_strategy, self._setup, candidates)

    def learn(self, batch: Sequence[Observation]) -> None:
        self._context.notify_runner_results(
            [seen.candidate for seen in batch], [seen.result for seen in batch]
        )

    def decisions(self) -> Mapping[str, Any]:
        return {}


@dataclass(frozen=True)
class SteeredEvolution:
    """The same search, with the sketches of the initial population chosen by a policy.

    Everything else follows the engine step by step: best measured programs from the database,
    evolution under the cost model and the set of measured programs are the engine's own; the
    share of random picks is its `eps_greedy`. With `UniformSketches` it proposes like
    `StockEvolution`, at the same cost.

    Attributes:
        sketches: Shares the unmeasured part of the population out among the sketches.
    """

    sketches: SketchPolicy = field(default_factory=UniformSketches)

    def engine(self) -> EvolutionarySearch:
        """The same engine as `StockEvolution`'s."""
        return StockEvolution().engine()

    def start(self, setup: Setup) -> Proposer:
        """Make a sampler for each sketch."""
        return _SteeredEvolution(setup, self.sketches)


class _SteeredEvolution:
    def __init__(self, setup: Setup, policy: SketchPolicy) -> None:
        from tvm_ffi import get_global_func, structural_hash

        self._sample_population = get_global_func(f"{_ENGINE}SampleInitPopulation")
        self._evolve = get_global_func(_EVOLVE)
        self._setup = setup
        self._chooser = policy.start(len(setup.sketches))
        self._engine: EvolutionarySearch = setup.context.search_strategy
        _pre_tune(self._engine, setup, setup.sketches)
        self._samplers = [_sampler(setup, sketch) for sketch in setup.sketches]
        self._workload = setup.database.commit_workload(setup.context.mod)
        self._fingerprint = structural_hash
        self._proposed: set[int] = set()

    def propose(self, trials: int) -> Sequence[MeasureCandidate] | None:
        engine = self._engine
        size = engine.population_size
        measured = self._best_measured(int(size * engine.init_measured_ratio))
        unmeasured = self._sample_unmeasured(size - len(measured))
        if len(unmeasured) < engine.init_min_unmeasured:
            return None
        random_picks = int(trials * engine.eps_greedy)
        evolved = self._evolve(engine, [*measured, *unmeasured], max(1, trials - random_picks))
        picks = [schedule for schedule in evolved if self._is_new(schedule)]
        for i in self._setup.rng.permutation(len(unmeasured)):
            if len(picks) >= trials:
                break
            if self._is_new(unmeasured[i]):
                picks.append(unmeasured[i])
        return [_candidate(schedule) for schedule in picks]

    def recall(self, candidates: Sequence[MeasureCandidate]) -> None:
        mark_as_measured(self._engine, self._setup, candidates)
        self._proposed |= {self._fingerprint(candidate.sch.mod) for candidate in candidates}

    def learn(self, batch: Sequence[Observation]) -> None:
        self._chooser.observe([seen.sketch for seen in batch], [seen.gflops for seen in batch])

    def decisions(self) -> Mapping[str, Any]:
        return self._chooser.decisions()

    def _best_measured(self, count: int) -> list[Schedule]:
        records = self._setup.database.get_top_k(self._workload, count)
        replays = _Replayer(self._setup)
        with ThreadPoolExecutor(self._setup.context.num_threads) as threads:
            schedules = threads.map(replays, [record.trace for record in records])
            return [schedule for schedule in schedules if schedule is not None]

    def _sample_unmeasured(self, count: int) -> list[Schedule]:
        counts = self._setup.rng.multinomial(count, self._chooser.shares())
        return [
            schedule
            for sampler, wanted in zip(self._samplers, counts, strict=True)
            if wanted
            for schedule in self._sample_population(sampler, int(wanted))
        ]

    def _is_new(self, schedule: Schedule) -> bool:
        """Whether this program was never proposed before; from now on it was."""
        # The engine keeps such a set too, but learns nothing of what is picked at random here.
        fingerprint = self._fingerprint(schedule.mod)
        if fingerprint in self._proposed:
            return False
        self._proposed.add(fingerprint)
        return True


class _Replayer:
    """Turns a recorded trace into a schedule, as the engine does with its database's best."""

    def __init__(self, setup: Setup) -> None:
        self._mod = setup.context.mod
        self._postprocs = list(setup.context.space_generator.postprocs)

    def __call__(self, trace: Trace) -> Schedule | None:
        from tvm.s_tir import Schedule
        from tvm.s_tir.schedule import ScheduleError

        schedule = Schedule(self._mod, seed=1, debug_mask="none", error_render_level="none")
        try:
            trace.apply_to_schedule(schedule, remove_postproc=True)
            schedule.enter_postproc()
            applied = all(postproc.apply(schedule) for postproc in self._postprocs)
        except ScheduleError:
            return None
        return schedule if applied else None


def _sampler(setup: Setup, sketch: Schedule) -> EvolutionarySearch:
    """An engine that knows one sketch only, to sample initial programs of that sketch."""
    from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch

    sampler = EvolutionarySearch(init_min_unmeasured=1)
    sampler._initialize_with_tune_context(setup.context)
    _pre_tune(sampler, setup, [sketch])
    return sampler


def mark_as_measured(
    engine: EvolutionarySearch, setup: Setup, candidates: Sequence[MeasureCandidate]
) -> None:
    """Have the engine take programs for measured, as after rounds of its own.

    Its set of measured programs is filled by one exported function, `EvolveWithCostModel`, which
    enters the best of what it evolves. So it gets the programs as its population, and a cost
    model that finds them, and nothing that evolves from them, good. This costs a genetic search
    without its predictions, seconds once per resumed run, and no search time.

    Args:
        engine: The search, tuned before or not; it is started anew.
        setup: What it is started with.
        candidates: What has been measured.
    """
    from tvm_ffi import get_global_func

    model = _partial_to(candidates, setup.cost_model)
    engine.post_tuning()
    _pre_tune(engine, replace(setup, cost_model=model), setup.sketches)
    if candidates:
        get_global_func(_EVOLVE)(engine, [each.sch for each in candidates], len(candidates))
    model.known.clear()


def _partial_to(candidates: Sequence[MeasureCandidate], model: Any) -> Any:
    """A cost model that prefers known programs, until it forgets them and passes questions on."""
    import numpy as np
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.cost_model import PyCostModel
    from tvm_ffi import structural_hash

    @derived_object
    class Partial(PyCostModel):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.known = {structural_hash(each.sch.mod) for each in candidates}

        def predict(self, context: Any, asked: Any) -> Any:
            if not self.known:
                return model.predict(context, asked)
            found = [structural_hash(each.sch.mod) in self.known for each in asked]
            return np.where(found, 1.0, _INDIFFERENT)

    return Partial()


_INDIFFERENT: Final = 1e-3
"""Above 0, which the engine could not draw parents by."""


def _pre_tune(engine: Any, setup: Setup, sketches: Sequence[Schedule]) -> None:
    engine.pre_tuning(
        setup.budget_trials, setup.round_trials, list(sketches), setup.database, setup.cost_model
    )


def _candidate(schedule: Schedule) -> MeasureCandidate:
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

    return MeasureCandidate(schedule, ArgInfo.from_entry_func(schedule.mod, remove_preproc=True))
