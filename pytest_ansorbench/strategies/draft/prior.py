"""What other tasks' measurements say of a task, and how much that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.model import SMALLEST, BoostedTrees, DecisionModel
from pytest_ansorbench.strategies.errors import require_at_least, require_positive, require_share


@dataclass(frozen=True)
class Prior:
    """How much measurements of other tasks count in a search.

    A model of their trials stands for this task's until it has trials of its own, and then fades:
    what it predicts counts by

        fading_trials / (fading_trials + trials of the task)

    on the logarithm of throughput, and the task's own model learns the rest. A prior that is
    wrong would still keep the search where it led at first, so some batches go without it.

    Others may have been measured where other things matter. So their model has a weight from 1 to
    0, and the guess from vector units takes the rest of its place. The weight is the slope of
    measured by promised throughput (logarithms), drawn to 1 by `credit`. A slope, unlike a
    correlation, stays what it is where trials are chosen by what was promised of them (Pearson
    1903, https://doi.org/10.1098/rsta.1903.0001): a prior is not blamed for picks that are all
    alike.

    Attributes:
        fading_trials: Trials of the task that halve what the prior counts.
        own_share: Share of batches that go by the task's own measurements alone, once there is a
            model of these.
        credit: Trials that others are taken to have been right about before the first one, each
            promised to be a factor of two off their mean.
    """

    fading_trials: int = 16
    own_share: float = 0.5
    credit: float = 4.0

    def __post_init__(self) -> None:
        require_at_least(self, 1, "fading_trials")
        require_share(self, "own_share")
        require_positive(self, "credit")

    def faded(self, model: DecisionModel, trials: int) -> DecisionModel:
        """A model of other tasks' trials as it counts for a task with so many of its own."""
        return Weighed(model, None, self.fading_trials / (self.fading_trials + trials))

    def weight(self, promises: Sequence[tuple[float, float]]) -> float:
        """How much others count, from 1, where nothing is known of them, to 0.

        Args:
            promises: Of each trial the throughput that others promised, in shares of whatever
                best, and what was measured, in GFLOP/s; 0 for a failed one.
        """
        promised, gflops = np.reshape(np.asarray(promises, dtype=np.float64), (-1, 2)).T
        best = gflops.max(initial=0.0)
        if not best:
            return 1.0
        x = np.log2(np.maximum(promised, SMALLEST))
        y = np.log2(np.maximum(gflops / best, BoostedTrees.slowest))
        x, y = x - x.mean(), y - y.mean()
        return float(np.clip((self.credit + x @ y) / (self.credit + x @ x), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Weighed:
    """A model that counts by its weight, and what stands for the rest of that; None for nothing."""

    model: DecisionModel
    guess: DecisionModel | None
    weight: float

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        promised = np.maximum(self.model.predict(rows), SMALLEST)
        found: NDArray[np.float64] = promised**self.weight
        if self.guess is not None:
            found = found * self.guess.predict(rows) ** (1.0 - self.weight)
        return found
