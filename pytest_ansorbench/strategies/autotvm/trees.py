"""AutoTVM's boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.boosting import grown_trees
from pytest_ansorbench.strategies.decisions.model import DecisionModel
from pytest_ansorbench.strategies.errors import require_at_least, require_choice, require_share

Objective = Literal["rank", "regression"]
OBJECTIVES: Final[tuple[Objective, ...]] = get_args(Objective)

_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    # Every pair of up to 64 trials; of more, the pairs with one of the 64 that the trees so far
    # rank first. The loss of a pair counts as it is, not scaled by scores or gradients.
    "rank": {
        "objective": "rank:pairwise",
        "lambdarank_num_pair_per_sample": 64,
        "lambdarank_normalization": False,
        "lambdarank_score_normalization": False,
    },
    "regression": {"objective": "reg:squarederror", "base_score": 0.0},
}


@dataclass(frozen=True)
class RankingTrees:
    """Boosted trees that put programs in order (sections 3.1 and 3.2).

    Which of two programs is faster is all that a search has to know. For each pair the loss is

        log(1 + exp(-sign(c_i - c_j) (f_i - f_j)))

    of throughputs c and scores f. With `objective="regression"` it is the squared error of
    throughput over the best. A failed trial has a throughput of 0.

    TVM grows trees until they find no more of the fastest of what they are trained on, which may
    take thousands; here their number is fixed.

    Attributes:
        objective: `rank` or `regression`.
        trees: Number of trees.
        depth: Of each, as in TVM.
        rate: Learning rate, as in TVM.
    """

    objective: Objective = "rank"
    trees: int = 100
    depth: int = 3
    rate: float = 0.3

    def __post_init__(self) -> None:
        require_choice(self, "objective", OBJECTIVES)
        require_at_least(self, 1, "trees", "depth")
        require_share(self, "rate")

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel | None:
        """Grow the trees, on what a prior leaves to learn; None if no program is valid.

        `trust` is for other models. Scores of `rank` say nothing but which program is faster.
        """
        if not throughput.any():
            return None
        booster = grown_trees(
            rows,
            throughput,
            margin=expected(prior, rows),
            trees=self.trees,
            seed=seed,
            max_depth=self.depth,
            eta=self.rate,
            gamma=1e-4,
            **_PARAMETERS[self.objective],
        )
        return _Scores(booster, prior)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Trees whose scores are added to those of a prior."""

    booster: Any
    prior: DecisionModel | None

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        margin = expected(self.prior, rows)
        scores: NDArray[np.float64] = self.booster.inplace_predict(
            rows, base_margin=margin.astype(np.float32), predict_type="margin"
        ).astype(np.float64)
        return scores


def expected(prior: DecisionModel | None, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """What a prior predicts, 0 without one; shape (points,)."""
    return np.zeros(len(rows)) if prior is None else prior.predict(rows)
