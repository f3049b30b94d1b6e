"""What other tasks' measurements say of a task, and how much that counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.model import DecisionModel
from pytest_ansorbench.strategies.errors import require_at_least, require_share


@dataclass(frozen=True)
class Prior:
    """How much measurements of other tasks count in a search.

    A model of their trials stands for this task's until it has trials of its own, and then fades:
    what it predicts counts by

        fading_trials / (fading_trials + trials of the task)

    on the logarithm of throughput, and the task's own model learns the rest. A prior that is
    wrong would still keep the search where it led at first, so some batches go without it.

    Attributes:
        fading_trials: Trials of the task that halve what the prior counts.
        own_share: Share of batches that go by the task's own measurements alone, once there is a
            model of these.
    """

    fading_trials: int = 16
    own_share: float = 0.5

    def __post_init__(self) -> None:
        require_at_least(self, 1, "fading_trials")
        require_share(self, "own_share")

    def faded(self, model: DecisionModel, trials: int) -> DecisionModel:
        """A model of other tasks' trials as it counts for a task with so many of its own."""
        return _Faded(model, self.fading_trials / (self.fading_trials + trials))


@dataclass(frozen=True, eq=False)
class _Faded:
    model: DecisionModel
    share: float

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.model.predict(rows) ** self.share
        return found


@dataclass(frozen=True, eq=False)
class Trials:
    """Measured programs of sketches of one kind."""

    # Of their decisions, shape (trials, columns of the kind).
    features: NDArray[np.float32]
    # Over the best of the task, 0 for a failed trial; shape (trials,).
    throughput: NDArray[np.float64]
