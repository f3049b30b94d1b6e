"""Drafts that were replayed, looked at again by the cost model before they are measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.checks import require_at_least


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
        require_at_least(self, "replays", 1, example=2)
        if not self.draft_weight >= 0.0:
            raise ValueError(f"bad draft_weight {self.draft_weight}: expected 0 or more, e.g. 0.5")

    def pick(self, scores: NDArray[np.float64], wanted: int) -> list[int]:
        """Choose among drafts.

        Args:
            scores: The cost model's, of drafts in the order that the draft's model has them.
            wanted: How many to choose.

        Returns:
            Their indices, best first.
        """
        of_cost_model = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
        ranks = of_cost_model + self.draft_weight * np.arange(len(scores))
        return [int(index) for index in np.argsort(ranks, kind="stable")[:wanted]]
