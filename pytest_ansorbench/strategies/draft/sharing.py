"""How a round's trials are shared out among the sketches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.errors import require_at_least, require_share


@dataclass(frozen=True)
class SharpeningShares:
    """By the throughput that each sketch has shown, the more so the more it has been tried.

    A sketch's share is proportional to its throughput over that of the best sketch, to a power that
    grows with the sketch's own trials: equal shares at first, nearly all for the best one in the
    end. Programs of one sketch differ by a factor of a hundred, so that one or two say little of
    what the sketch can do.

    Attributes:
        sharpen_trials: Trials of a sketch that raise its power by 1.
        least: Added to each share, before all are scaled to a sum of 1.
    """

    sharpen_trials: int = 4
    least: float = 0.03

    def __post_init__(self) -> None:
        require_at_least(self, 1, "sharpen_trials")
        require_share(self, "least")

    def shares(self, gflops: Sequence[float], trials: Sequence[float]) -> NDArray[np.float64]:
        """The share of each sketch, shape (sketches,), with a sum of 1.

        A sketch without a valid trial, of 0 GFLOP/s, counts as the best one does.

        Args:
            gflops: What each sketch has shown, as in `Evidence.shown_by_sketches`.
            trials: Trials of each sketch.
        """
        best = np.asarray(gflops, dtype=np.float64)
        top = best.max(initial=0.0)
        relative = np.where(best > 0.0, best, top) / top if top > 0.0 else np.ones_like(best)
        weights = relative ** (np.asarray(trials) / self.sharpen_trials) + self.least
        found: NDArray[np.float64] = weights / weights.sum()
        return found
