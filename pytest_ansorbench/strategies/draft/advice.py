"""What a cost model is asked: of random programs beforehand, and of drafts that became programs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.errors import require_at_least, require_share


@dataclass(frozen=True)
class Survey:
    """Random programs that the cost model scores, for the draft's model to begin with.

    A cost model that is trained when a run begins, as `PretrainedModel` is, knows programs, but
    making one takes milliseconds. So it is asked about some random ones, and the draft's model
    learns from its answers as it does from measurements, only that they count for less. They cost
    time, so a task with few trials to spend asks about few.

    Attributes:
        programs: Random programs, spread out over the sketches, at most.
        per_trial: Such programs for each trial that the task may expect, at most.
        weight: Of a scored program, where a measured one of the same throughput has 1.
        trials: Trials from which on measurements speak for themselves.
        confidence: Trials that the survey counts as when the first batch is shared out among
            the sketches.
    """

    programs: int = 128
    per_trial: float = 1.0
    weight: float = 0.3
    trials: int = 16
    confidence: int = 24

    def __post_init__(self) -> None:
        require_at_least(self, 1, "programs")
        require_at_least(self, 0, "per_trial")
        require_share(self, "weight")
        require_at_least(self, 0, "trials", "confidence")

    def programs_for(self, trials: float) -> int:
        """Programs to ask about for a task that expects so many trials."""
        return min(self.programs, math.ceil(self.per_trial * trials))


@dataclass(frozen=True)
class Verification:
    """More drafts are replayed than are measured, and the cost model helps to choose.

    The cost model sees the finished program, with its loads and stores, and learns from all tasks
    of a run. The draft's model sees the decisions only, and learns from this task alone. They err
    in different places, so their ranks are added up.

    Attributes:
        replays: Drafts that are replayed for each that is measured, at least 1.
        draft_weight: Weight of the draft's rank; the cost model's has 1.
    """

    replays: int = 2
    draft_weight: float = 0.5

    def __post_init__(self) -> None:
        require_at_least(self, 1, "replays")
        require_at_least(self, 0, "draft_weight")

    def pick(self, scores: NDArray[np.float64], wanted: int) -> list[int]:
        """Indices of drafts, best first, of scores in the order that the draft's model has them."""
        of_cost_model = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
        ranks = of_cost_model + self.draft_weight * np.arange(len(scores))
        return [int(index) for index in np.argsort(ranks, kind="stable")[:wanted]]
