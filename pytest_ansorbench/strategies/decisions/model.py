"""What predicts a program's throughput from its decisions alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.boosting import grown_trees
from pytest_ansorbench.strategies.errors import require_at_least, require_positive, require_share

SMALLEST: Final = 1e-6
"""Where a logarithm is taken, a model that promises less has promised this."""


class DecisionModel(Protocol):
    """Learns from measured vectors of one task."""

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Predicted throughput, in shares of the best measured.

        Args:
            rows: Features, shape (points, columns).

        Returns:
            Shape (points,).
        """
        ...


class DecisionModelPolicy(Protocol):
    """Parameters of such a model.

    One that takes a library may have a method `check_installed`, which `AutoTVM` calls when it is
    started: it raises a `StrategyError` where the library is not installed.
    """

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel | None:
        """Learn from all that has been measured; `AutoTVM` asks before the first trial, too.

        Args:
            rows: Features of points, shape (points, columns).
            throughput: In shares of the best, 0 for a failed trial; shape (points,).
            trust: 1 for a measured point, less for one that the cost model has scored; shape
                (points,).
            seed: Of whatever is random in it.
            prior: What is predicted where nothing was measured; None for the same everywhere.

        Returns:
            None while there is too little to learn from.

        Raises:
            StrategyError: A library is not installed, or the rows are not what it takes.
        """
        ...


def check_installed(policy: DecisionModelPolicy) -> None:
    """Have a model refuse before a search what it would refuse in it."""
    if hasattr(policy, "check_installed"):
        policy.check_installed()


@dataclass(frozen=True)
class BoostedTrees:
    """Gradient-boosted regression trees, by XGBoost.

    Trees of two decisions learn the logarithm of throughput: what a tile size does multiplies with
    what another does, so that what is best of one program and of another adds up to one that is
    faster than both. Errors on fast programs weigh most: which of the slow ones is slowest does
    not matter.

    Attributes:
        least: Points before there is a model.
        trees: Number of trees.
        depth: Of each.
        rate: Learning rate.
        columns: Share of the features that a tree sees.
        slowest: Throughput that slower and failed trials count as, in shares of the best.
        floor: Weight of a trial that failed; the best one has that and 1, others that and the
            square root of their throughput.
        leaf: Weight that a leaf has at least: a single fast trial is enough.
    """

    least: int = 8
    trees: int = 200
    depth: int = 2
    rate: float = 0.1
    columns: float = 0.4
    slowest: float = 0.05
    floor: float = 0.05
    leaf: float = 0.3

    def __post_init__(self) -> None:
        require_at_least(self, 1, "least", "trees", "depth")
        require_share(self, "rate", "columns", "floor", "leaf")
        require_positive(self, "slowest")

    def fit(
        self,
        rows: NDArray[np.float32],
        throughput: NDArray[np.float64],
        trust: NDArray[np.float64],
        seed: int,
        prior: DecisionModel | None = None,
    ) -> DecisionModel | None:
        """Grow the trees; None below `least` points, or if none of them is valid.

        With a prior they learn what it gets wrong.
        """
        if len(rows) < self.least or not throughput.any():
            return None
        logs = np.log(np.maximum(throughput, self.slowest))
        weight = (np.sqrt(throughput) + self.floor) * trust
        expected = _logs(prior, rows)
        shift = float(np.average(logs - expected, weights=weight))
        booster = grown_trees(
            rows,
            logs,
            weight=weight,
            margin=expected + shift,
            trees=self.trees,
            seed=seed,
            max_depth=self.depth,
            eta=self.rate,
            subsample=0.9,
            colsample_bytree=self.columns,
            min_child_weight=self.leaf,
            base_score=0.0,
        )
        return _Trees(booster, prior, shift)


@dataclass(frozen=True, eq=False)
class _Trees:
    """Boosting that begins with the prior, shifted to the mean of what was measured."""

    booster: Any
    prior: DecisionModel | None
    shift: float

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        margin = _logs(self.prior, rows) + self.shift
        logs = self.booster.inplace_predict(rows, base_margin=margin.astype(np.float32))
        predicted: NDArray[np.float64] = np.exp(logs.astype(np.float64))
        return predicted


def _logs(prior: DecisionModel | None, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logarithms of what a prior predicts, 0 without one; shape (points,)."""
    if prior is None:
        return np.zeros(len(rows))
    return np.log(np.maximum(prior.predict(rows), SMALLEST))
