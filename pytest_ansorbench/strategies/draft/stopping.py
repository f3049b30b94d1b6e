"""When a search gives back the rest of its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ansorbench.strategies.checks import require_at_least


@dataclass(frozen=True)
class Plateau:
    """The search of a task ends when its last trials have gained next to nothing.

    Attributes:
        trials: How many are looked back on.
        gain: What they have to have gained, as share of the best before them.
    """

    trials: int = 96
    gain: float = 0.01

    def __post_init__(self) -> None:
        require_at_least(self, "trials", 1, example=96)
        if not self.gain >= 0.0:
            raise ValueError(f"bad gain {self.gain}: expected 0 or more, e.g. 0.01")

    def reached(self, gflops: Sequence[float]) -> bool:
        """Whether to stop.

        Args:
            gflops: Throughput of each trial of the task, in order; 0 for a failed one.
        """
        before = max(gflops[: -self.trials], default=0.0)
        return before > 0.0 and max(gflops) <= before * (1.0 + self.gain)
