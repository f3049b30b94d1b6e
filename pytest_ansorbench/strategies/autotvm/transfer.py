"""A model of other workloads, to which a task's own is added."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.experience import Experience
from pytest_ansorbench.strategies.decisions.model import DecisionModel, DecisionModelPolicy
from pytest_ansorbench.strategies.errors import require_at_least


@dataclass(frozen=True)
class Transfer:
    """The sum of a global and a local model (section 4).

    The global one is trained on other workloads' trials. It chooses the first batch; then the
    task's own model learns what it gets wrong. The paper has features of loops that mean the same
    for all operators; here sketches of the same kind share features of decisions, so that nothing
    is transferred to a task whose kinds of sketches are not known. As in TVM, the global model
    counts for less with each trial.

    Attributes:
        experience: The other workloads' trials.
        halving_trials: Trials of a task that halve what the global model counts; TVM's.
    """

    experience: Experience = field(default_factory=Experience)
    halving_trials: int = 64

    def __post_init__(self) -> None:
        require_at_least(self, 1, "halving_trials")

    def model(self, space: DesignSpace, policy: DecisionModelPolicy) -> DecisionModel | None:
        """The global model for a task; None if no kind of its sketches is known."""
        known = space.encoding.known(self.experience.known())
        count = len(known.throughput)
        if not count:
            return None
        return policy.fit(known.features, known.throughput, np.ones(count), count)

    def discounted(self, model: DecisionModel, trials: int) -> DecisionModel:
        """A global model as it counts for a task with so many trials of its own."""
        return _Discounted(model, 0.5 ** (trials / self.halving_trials))


@dataclass(frozen=True, eq=False)
class _Discounted:
    model: DecisionModel
    share: float

    def predict(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        return self.share * self.model.predict(rows)
