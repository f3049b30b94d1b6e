"""Random search: the floor that any other search has to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.proposer import Observation, Proposer, Setup


@dataclass(frozen=True)
class RandomTraces:
    """Sketches and annotations drawn at random, by MetaSchedule's `ReplayTrace`."""

    def start(self, setup: Setup) -> Proposer:
        """Hand the design space to the engine."""
        return _RandomTraces(setup)


class _RandomTraces:
    def __init__(self, setup: Setup) -> None:
        from tvm.s_tir.meta_schedule.search_strategy import ReplayTrace

        self._engine = ReplayTrace()
        self._engine._initialize_with_tune_context(setup.context)
        self._engine.pre_tuning(
            setup.budget_trials, setup.round_trials, list(setup.sketches), setup.database
        )

    def propose(self, trials: int) -> Sequence[Candidate] | None:
        generated = self._engine.generate_measure_candidates()
        return None if generated is None else [*map(Candidate, generated)][:trials]

    def recall(self, candidates: Sequence[Candidate]) -> None:
        """Nothing to do: what was drawn before may be drawn again."""

    def learn(self, batch: Sequence[Observation]) -> None:
        self._engine.notify_runner_results(
            [seen.candidate.measure_candidate for seen in batch],
            [seen.result for seen in batch],
        )

    def decisions(self) -> Mapping[str, Any]:
        return {}
