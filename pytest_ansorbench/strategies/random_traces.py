"""Random search: the floor that any other search has to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.strategies.strategy import Observation, Proposer, Setup

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate, ReplayTrace


@dataclass(frozen=True)
class RandomTraces:
    """Sketches and annotations drawn at random, by MetaSchedule's `ReplayTrace`."""

    def engine(self) -> ReplayTrace:
        """The search itself."""
        from tvm.s_tir.meta_schedule.search_strategy import ReplayTrace

        return ReplayTrace()

    def start(self, setup: Setup) -> Proposer:
        """Hand the design space to the engine."""
        return _RandomTraces(setup)


class _RandomTraces:
    def __init__(self, setup: Setup) -> None:
        self._context = setup.context
        self._context.pre_tuning(
            setup.budget_trials, setup.round_trials, list(setup.sketches), setup.database
        )

    def propose(self, trials: int) -> Sequence[MeasureCandidate] | None:
        candidates = self._context.generate_measure_candidates()
        return None if candidates is None else list(candidates)[:trials]

    def recall(self, candidates: Sequence[MeasureCandidate]) -> None:
        """Nothing to do: what was drawn before may be drawn again."""

    def learn(self, batch: Sequence[Observation]) -> None:
        self._context.notify_runner_results(
            [seen.candidate for seen in batch], [seen.result for seen in batch]
        )

    def decisions(self) -> Mapping[str, Any]:
        return {}
