"""`draft` with one part taken away or changed; a pytest plugin for `draft.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies import (
    BoostedTrees,
    CompileTime,
    DecisionModel,
    Draft,
    EqualShares,
    FixedMeasurement,
    Neighbourhood,
    Plateau,
    Prior,
    RacingMeasurement,
    Registry,
    SharpeningShares,
    Strategy,
    Verification,
    XGBoostModel,
)
from pytest_ansorbench.strategies.draft.compiling import Discount


@dataclass(frozen=True)
class Guesses:
    """No model: every draft is as good as any other."""

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel:
        """Learn nothing."""
        return _Guesses(np.random.default_rng(seed))


class _Guesses:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._rng.random(len(rows))


@dataclass(frozen=True)
class SteadyPrice(CompileTime):
    """Compile times count as much at the end as at the start."""

    def fit(
        self, rows: NDArray[np.float32], build_s: NDArray[np.float64], left: float, seed: int
    ) -> Discount | None:
        """As if the whole budget were left."""
        return super().fit(rows, build_s, 1.0, seed)


@dataclass(frozen=True)
class SharesByAllTrials(SharpeningShares):
    """A sketch's first program counts as much as if the sketch had been tried like the others."""

    def shares(self, best_gflops: Sequence[float], trials: Sequence[float]) -> NDArray[np.float64]:
        """As if each sketch had a third of the trials, as those of a tiled operator do at first."""
        return super().shares(best_gflops, [sum(trials) / 3] * len(trials))


def pytest_ansorbench_strategies(config: object) -> Sequence[Strategy]:
    """The variants, and controls that differ from stock searches in measurement alone."""
    draft = Registry().get("draft")
    policy = draft.proposer
    assert isinstance(policy, Draft)

    transfer = Registry().get("draft+transfer")
    experienced = transfer.proposer
    assert isinstance(experienced, Draft)

    def variant(name: str, proposer: Draft) -> Strategy:
        return replace(draft, name=f"draft-{name}", proposer=proposer, description="")

    return [
        variant("guessed", replace(policy, model=Guesses())),
        variant("tall", replace(policy, model=BoostedTrees(depth=4, trees=100))),
        variant("crowded", replace(policy, niches=None)),
        variant("lonely", replace(policy, siblings=None)),
        variant("equal", replace(policy, sharing=EqualShares())),
        variant("whole", replace(policy, growth=1e9)),
        variant("unspread", replace(policy, spread=1)),
        variant("random-first", replace(policy, vector_units=None)),
        variant("greedy", replace(policy, random_share=0.0)),
        variant("patient", replace(policy, compile_time=None)),
        variant("steady", replace(policy, compile_time=SteadyPrice())),
        variant("before", replace(policy, compile_time=SteadyPrice(), sharing=SharesByAllTrials())),
        variant("far", replace(policy, neighbourhood=Neighbourhood(children=0))),
        variant("wide", replace(policy, full_trials=1)),
        variant("stopping", replace(policy, stopping=Plateau())),
        replace(draft, name="draft-fixed", measurement=FixedMeasurement(), description=""),
        replace(draft, name="draft-racing", measurement=RacingMeasurement(), description=""),
        replace(draft, name="draft-unchecked", last_check=None, description=""),
        replace(
            draft,
            name="draft-verified",
            proposer=replace(policy, verification=Verification()),
            cost_model=XGBoostModel(warmup_samples=32),
            description="",
        ),
        replace(
            transfer,
            name="transfer-led",
            proposer=replace(experienced, prior=Prior(own_share=0.0)),
            description="",
        ),
        replace(
            transfer,
            name="transfer-verified",
            proposer=replace(experienced, verification=Verification(), random_pool=8),
            description="",
        ),
        *(
            replace(
                Registry().get(name),
                name=f"{name}-racing",
                measurement=RacingMeasurement(),
                description="",
            )
            for name in ("random", "default")
        ),
    ]
