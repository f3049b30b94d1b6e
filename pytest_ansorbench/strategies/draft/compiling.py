"""How long drafts would compile, and what that costs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.boosting import grown_trees
from pytest_ansorbench.strategies.errors import require_at_least

# Positive factors for rows of features, shape (points, columns); shape (points,).
Discount = Callable[[NDArray[np.float32]], NDArray[np.float64]]


@dataclass(frozen=True)
class CompileTime:
    """Programs that compile for long have to promise more.

    Compiling is most of what a trial costs, and differs by orders of magnitude: unrolled bodies
    of large tiles take LLVM seconds. A draft's predicted throughput is multiplied by

        (predicted seconds / median seconds so far) ** -(price * share of the budget left)

    so that of two drafts that promise the same, the one that compiles sooner is tried first. At
    the end there is nothing to put it off to, and only throughput counts.

    Attributes:
        price: The exponent of a whole budget; 0 leaves drafts as they are.
        least: Trials before compile times are predicted.
        trees: Boosted trees on the logarithm of the seconds.
        depth: Of each.
    """

    price: float = 0.3
    least: int = 16
    trees: int = 60
    depth: int = 4

    def __post_init__(self) -> None:
        require_at_least(self, 0, "price")
        require_at_least(self, 1, "least", "trees", "depth")

    def fit(
        self, rows: NDArray[np.float32], build_s: NDArray[np.float64], left: float, seed: int
    ) -> Discount | None:
        """Learn from what has been compiled; `left` is the share of the budget.

        None while there is too little to learn from, or if seconds do not count.
        """
        price = self.price * left
        if len(rows) < self.least or price == 0.0:
            return None
        seconds = np.log(build_s)
        booster = grown_trees(
            rows,
            seconds - np.median(seconds),
            trees=self.trees,
            seed=seed,
            max_depth=self.depth,
            eta=0.15,
            subsample=0.9,
            colsample_bytree=0.5,
        )

        def discount(points: NDArray[np.float32]) -> NDArray[np.float64]:
            return np.exp(-price * booster.inplace_predict(points).astype(np.float64))

        return discount
