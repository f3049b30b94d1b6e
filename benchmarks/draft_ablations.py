"""`draft` with one part taken away or changed, or by each scheduler; a plugin for `draft.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies import (
    SCHEDULERS,
    BoostedTrees,
    DecisionModel,
    Draft,
    Evolution,
    Experience,
    FixedMeasurement,
    Neighbourhood,
    Prior,
    RacingMeasurement,
    Registry,
    SharpeningShares,
    Strategy,
)
from pytest_ansorbench.strategies.decisions.encoding import Trials


@dataclass(frozen=True)
class Guesses:
    """No model: every draft is as good as any other."""

    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel:
        """Learn nothing."""
        return Guesses(np.random.default_rng(seed))

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Numbers at random."""
        return self.rng.random(len(rows))


class Inverted(Experience):
    """Says the opposite of what was measured: the fastest is the slowest."""

    def known(self) -> Mapping[str, Trials]:
        """Trials by kind of sketch."""
        slowest = BoostedTrees.slowest
        return {
            kind: Trials(trials.features, slowest / np.maximum(trials.throughput, slowest))
            for kind, trials in super().known().items()
        }


class Partial(Experience):
    """Says that programs of the second sketch are eight times as fast as they were."""

    def known(self) -> Mapping[str, Trials]:
        """Trials by kind of sketch."""
        return {
            kind: trials if kind.endswith("-1") else Trials(trials.features, trials.throughput / 8)
            for kind, trials in super().known().items()
        }


class Credulous(Prior):
    """Never asks whether others were right."""

    def weight(self, promises: Sequence[tuple[float, float]]) -> float:
        """As much as before the first trial."""
        return 1.0


def pytest_ansorbench_strategies(config: object) -> Sequence[Strategy]:
    """The variants, and controls that differ from stock searches in measurement alone."""
    draft = Registry().get("draft")
    policy = draft.proposer
    assert isinstance(policy, Draft)
    proposers = {
        "draft+inverted": replace(policy, experience=Inverted()),
        "draft+partial": replace(policy, experience=Partial()),
        "credulous+inverted": replace(policy, experience=Inverted(), prior=Credulous()),
        "draft-guessed": replace(policy, model=Guesses()),
        "draft-tall": replace(policy, model=BoostedTrees(depth=4, trees=100)),
        "draft-equal": replace(policy, sharing=SharpeningShares(sharpen_trials=10**9)),
        "draft-whole": replace(policy, growth=1e9),
        "draft-random-first": replace(policy, vector_units=None),
        "draft-greedy": replace(policy, explored_share=0.0),
        "draft-far": replace(policy, neighbourhood=Neighbourhood(children=0)),
    }
    return [
        *(
            replace(draft, name=name, proposer=proposer, description="")
            for name, proposer in proposers.items()
        ),
        *(
            replace(draft, name=f"draft-{name}", scheduler=scheduler, description="")
            for name, scheduler in SCHEDULERS.items()
        ),
        # As `tune` searches.
        replace(
            Registry().get("draft+transfer"),
            name="tuned",
            scheduler=SCHEDULERS["balanced"],
            description="",
        ),
        replace(draft, name="draft-fixed", measurement=FixedMeasurement(), description=""),
        # A control: `default` without a genetic search before its cost model is trained.
        Strategy("default-seeing", proposer=Evolution(blind_generations=0)),
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
