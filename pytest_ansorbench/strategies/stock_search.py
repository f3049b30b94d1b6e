"""MetaSchedule's own searches as proposers: the reference for all others, and the floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.budget import UNLIMITED_TRIALS
from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.cost_model import required_model
from pytest_ansorbench.strategies.proposer import Observation, Proposer, Setup

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.search_strategy import SearchStrategy

_EVOLVE: Final = "s_tir.meta_schedule.SearchStrategyEvolutionarySearchEvolveWithCostModel"
# The score of unknown programs: above 0, which the engine could not draw parents by.
_INDIFFERENT: Final = 1e-3


@dataclass(frozen=True)
class RandomTraces:
    """Sketches and annotations drawn at random, by MetaSchedule's `ReplayTrace`.

    The floor that any other search has to beat.
    """

    def start(self, setup: Setup) -> Proposer:
        """Hand the design space to the engine."""
        from tvm.s_tir.meta_schedule.search_strategy import ReplayTrace

        # It counts every round as a whole one, smaller ones of an earlier budget too.
        return _StockSearch(ReplayTrace(), replace(setup, budget_trials=UNLIMITED_TRIALS))


@dataclass(frozen=True)
class StockEvolution:
    """MetaSchedule's evolutionary search as it is.

    Attributes:
        population: Programs of a generation, the engine's `population_size`.
        generations: Times a population is bred from, the engine's `genetic_num_iters`.
        min_unmeasured: Programs that must be new in the first population.
    """

    population: int = 512
    generations: int = 4
    min_unmeasured: int = 50

    def start(self, setup: Setup) -> Proposer:
        """Hand the design space to the engine.

        Raises:
            StrategyError: There is no cost model to rank programs by.
        """
        from tvm.s_tir.meta_schedule.search_strategy import EvolutionarySearch

        required_model(setup, self)
        engine = EvolutionarySearch(
            population_size=self.population,
            genetic_num_iters=self.generations,
            init_min_unmeasured=self.min_unmeasured,
        )
        return _StockEvolution(engine, setup)


class _StockSearch:
    """One of MetaSchedule's searches at work."""

    def __init__(self, engine: SearchStrategy, setup: Setup) -> None:
        self._engine = engine
        self._setup = setup
        engine._initialize_with_tune_context(setup.context)
        _pre_tune(engine, setup)

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        generated = self._engine.generate_measure_candidates()
        return None if generated is None else [*map(Candidate, generated)][:trials]

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """Nothing to do where what was drawn before may be drawn again."""

    def learn(self, batch: Sequence[Observation]) -> None:
        self._engine.notify_runner_results(
            [seen.candidate.measure_candidate for seen in batch],
            [seen.result for seen in batch],
        )

    def decisions(self) -> Mapping[str, Any]:
        return {}


class _StockEvolution(_StockSearch):
    def recall(self, candidates: Sequence[Candidate]) -> None:
        """Have the engine treat programs as measured, as after rounds of its own.

        It is started anew. Its set of measured programs is filled by one exported function,
        `EvolveWithCostModel`, which enters the best of what it evolves. So it gets the programs as
        its population, and a cost model that scores them high, and whatever evolves from them low.
        This costs a genetic search without its predictions, seconds once per resumed run, and no
        search time.
        """
        from tvm_ffi import get_global_func

        model = _partial_to(candidates, self._setup.cost_model)
        self._engine.post_tuning()
        _pre_tune(self._engine, replace(self._setup, cost_model=model))
        if candidates:
            get_global_func(_EVOLVE)(
                self._engine, [candidate.schedule for candidate in candidates], len(candidates)
            )
        model.known.clear()


def _partial_to(candidates: Sequence[Candidate], model: Any) -> Any:
    """A cost model that prefers known programs, until it forgets them and passes questions on."""
    import numpy as np
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.cost_model import PyCostModel
    from tvm_ffi import structural_hash

    @derived_object
    class Partial(PyCostModel):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.known = {candidate.fingerprint for candidate in candidates}

        def predict(self, context: Any, asked: Any) -> Any:
            if not self.known:
                return model.predict(context, asked)
            found = [structural_hash(one.sch.mod) in self.known for one in asked]
            return np.where(found, 1.0, _INDIFFERENT)

    return Partial()


def _pre_tune(engine: SearchStrategy, setup: Setup) -> None:
    engine.pre_tuning(
        setup.budget_trials if setup.run_time_s is None else UNLIMITED_TRIALS,
        setup.round_trials,
        list(setup.sketches),
        setup.database,
        setup.cost_model,
    )
