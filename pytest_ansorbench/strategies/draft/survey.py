"""What a cost model that knows programs beforehand is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_ansorbench.strategies.errors import require_at_least, require_share


@dataclass(frozen=True)
class Survey:
    """Random programs that the cost model scores, for the draft's model to begin with.

    A cost model that is trained when a run begins, as `PretrainedModel` is, knows programs, but
    making one takes milliseconds. So it is asked about some random ones, and the draft's model
    learns from its answers as it does from measurements, only that they count for less. They cost
    time, so a task with few trials to spend asks about few. A cost model that is wrong misleads for
    `trials` trials and no longer.

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
