"""AutoTVM's loop: a model, points that it likes, a diverse batch of them, and a few at random."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.autotvm.chains import Chains
from pytest_ansorbench.strategies.autotvm.diversity import Diversity
from pytest_ansorbench.strategies.autotvm.inputs import DecisionInputs, ModelInputs
from pytest_ansorbench.strategies.autotvm.transfer import Transfer
from pytest_ansorbench.strategies.autotvm.trees import RankingTrees
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.model import (
    DecisionModel,
    DecisionModelPolicy,
    check_installed,
)
from pytest_ansorbench.strategies.decisions.point_search import (
    PointSearch,
    PointSearchPolicy,
    Suggestion,
    Tried,
)
from pytest_ansorbench.strategies.decisions.space import Point
from pytest_ansorbench.strategies.errors import require_method, require_share
from pytest_ansorbench.strategies.proposer import PointSetup, Proposer


@dataclass(frozen=True)
class AutoTVM(PointSearchPolicy):
    """Simulated annealing against boosted trees (section 3, algorithm 1).

    The first batch is random, without a transfer. Before each other one the model is trained on all
    trials; chains go on from where they were, and of the best points that they come by a diverse
    batch is chosen. A batch is a round's trials, where the paper has 64.

    Attributes:
        model: Predicts which program is faster.
        inputs: What it is told of a program.
        chains: Find points that it likes.
        diversity: Chooses a batch of these.
        random_share: The paper's epsilon: share of a batch that is drawn at random, in algorithm 1
            just as many of each; a remainder is left to chance. TVM has 5% as well.
        transfer: What other workloads' trials add to the model; None for nothing.
    """

    model: DecisionModelPolicy = field(default_factory=RankingTrees)
    inputs: ModelInputs = field(default_factory=DecisionInputs)
    chains: Chains = field(default_factory=Chains)
    diversity: Diversity = field(default_factory=Diversity)
    random_share: float = 0.05
    transfer: Transfer | None = None

    def __post_init__(self) -> None:
        require_method(self, "model", "fit", example="RankingTrees()")
        require_method(self, "inputs", "start", example="DecisionInputs()")
        require_method(self, "chains", "best", example="Chains()")
        require_method(self, "diversity", "ordered", example="Diversity()")
        require_share(self, "random_share")
        if self.transfer is not None and not isinstance(self.inputs, DecisionInputs):
            raise ValueError(
                f"bad inputs {self.inputs!r}: expected DecisionInputs() with a transfer, which has "
                "features of decisions"
            )

    def start(self, setup: PointSetup) -> Proposer:
        """The live search of one task of one run.

        Raises:
            StrategyError: The model takes a library that is not installed.
        """
        check_installed(self.model)
        return super().start(setup)

    def search(self, space: DesignSpace, rng: np.random.Generator, trials: float) -> PointSearch:
        """A search whose model is untrained."""
        return _AutoTVM(self, space, rng)


class _AutoTVM(PointSearch):
    def __init__(self, policy: AutoTVM, space: DesignSpace, rng: np.random.Generator) -> None:
        self._policy = policy
        self._space = space
        self._rng = rng
        self._rows = policy.inputs.start(space)
        self._tried: list[Tried] = []

    def ask(self, wanted: int, taken: Container[Point]) -> Iterable[Suggestion]:
        policy, rng = self._policy, self._rng
        model = self._model()
        randoms = wanted if model is None else int(policy.random_share * wanted + rng.random())
        for _ in range(randoms):
            yield Suggestion(self._space.fresh(self._space.draw(rng), taken, rng, near_share=0.0))
        if model is None:
            return
        annealed = policy.chains.best(
            self._space,
            self._starts(),
            self._scored_by(model),
            policy.diversity.ratio * wanted,
            taken,
            rng,
        )
        ends = [[index, *vector] for index, vector in annealed.ends]
        self.memory = {"chains": ends, "steps": annealed.steps}
        for score, point in policy.diversity.ordered(annealed.ranked):
            yield Suggestion(point, {"score": score})

    def tell(self, tried: Sequence[Tried]) -> None:
        self._tried += tried

    def decisions(self) -> Mapping[str, Any]:
        return {"annealing_steps": self.memory["steps"]} if self.memory else {}

    def _starts(self) -> list[Point]:
        """Where the chains were: they are kept while the model changes (3.3)."""
        if self.memory:
            return [(index, tuple(vector)) for index, *vector in self.memory["chains"]]
        return [self._space.draw(self._rng) for _ in range(self._policy.chains.count)]

    def _scored_by(self, model: DecisionModel) -> Callable[[Sequence[Point]], NDArray[np.float64]]:
        """Scores points by a model, and those that are no program like the worst trial."""
        tried = self._rows([one.point for one in self._tried])
        worst = float(model.predict(tried).min()) if len(tried) else 0.0

        def score(points: Sequence[Point]) -> NDArray[np.float64]:
            rows = self._rows(points)
            return np.where(np.isnan(rows).all(axis=1), worst, model.predict(rows))

        return score

    @cached_property
    def _global(self) -> DecisionModel | None:
        """The model of other workloads' trials, grown in the first round, on the clock."""
        policy = self._policy
        return policy.transfer.model(self._space, policy.model) if policy.transfer else None

    def _model(self) -> DecisionModel | None:
        policy, prior = self._policy, self._global
        if policy.transfer is not None and prior is not None:
            prior = policy.transfer.discounted(prior, len(self._tried))
        best = max((one.gflops for one in self._tried), default=0.0)
        throughput = np.array([one.gflops / (best or 1.0) for one in self._tried])
        rows = self._rows([one.point for one in self._tried])
        seed = int(self._rng.integers(2**31))
        model = policy.model.fit(rows, throughput, np.ones(len(rows)), seed, prior)
        return prior if model is None else model
