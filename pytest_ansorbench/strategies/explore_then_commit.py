"""Sketch prediction by improved explore-then-commit.

After Han Lin, Wang Yifan, Li Jianan and Gao Wei, Automatic Scheduling Search Optimization
Method Based on TVM, Computer Science 52(3):268-276, 2025, section 4 and algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.errors import require_at_least, require_share
from pytest_ansorbench.strategies.sketch_policy import SketchChooser


@dataclass(frozen=True)
class ExploreThenCommit:
    """Find the sketch whose programs are fastest on average, then mostly sample from it.

    Warm-up rounds draw sketches uniformly while the cost model is still too poor for its
    choices to tell sketches apart. Exploration rounds draw uniformly too, and from them on
    each sketch's mean throughput is kept: `history_weight` times the mean so far plus the
    rest times the mean of the last round. Every round after that commits to the sketch with
    the largest mean. A share of the population goes on being drawn uniformly, so that a wrong
    first choice is found out and corrected.

    The paper gives the rounds (section 4.2: three of warm-up, 4.3: one of exploration) but
    neither weight nor exploring share; the defaults for these are ours.

    Attributes:
        warmup_rounds: Rounds before throughput is recorded.
        explore_rounds: Rounds of recording without commitment.
        history_weight: Weight of the past against the last round, in [0, 1].
        explore_share: Share of a committed population that is drawn uniformly, in [0, 1].
    """

    warmup_rounds: int = 3
    explore_rounds: int = 1
    history_weight: float = 0.5
    explore_share: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, 0, "warmup_rounds", "explore_rounds")
        require_share(self, "history_weight", "explore_share")

    def start(self, sketches: int) -> SketchChooser:
        """A chooser that has seen nothing yet."""
        return _ExploreThenCommit(self, sketches)


class _ExploreThenCommit:
    def __init__(self, policy: ExploreThenCommit, sketches: int) -> None:
        self._policy = policy
        self._means = np.full(sketches, np.nan)  # NaN until a sketch has been measured
        self._rounds_done = 0
        self._last: dict[str, Any] = {}

    def shares(self) -> NDArray[np.float64]:
        shares = np.full(len(self._means), 1.0 / len(self._means))
        committed = self._committed()
        if committed is not None:
            shares *= self._policy.explore_share
            shares[committed] += 1.0 - self._policy.explore_share
        return shares

    def observe(self, sketches: Sequence[int], gflops: Sequence[float]) -> None:
        self._last = {
            "phase": self._phase(),
            "committed_sketch": self._committed(),
            "sketch_shares": [round(float(share), 4) for share in self.shares()],
        }
        if self._phase() != "warm-up":
            of_trial = np.asarray(sketches)
            for sketch in np.unique(of_trial[of_trial >= 0]):  # -1: from no sketch
                latest = float(np.mean(np.asarray(gflops)[of_trial == sketch]))
                past, weight = self._means[sketch], self._policy.history_weight
                self._means[sketch] = (
                    latest if np.isnan(past) else weight * past + (1.0 - weight) * latest
                )
        self._rounds_done += 1
        self._last["mean_gflops"] = [
            None if np.isnan(mean) else round(float(mean), 3) for mean in self._means
        ]

    def decisions(self) -> Mapping[str, Any]:
        return self._last

    def _phase(self) -> str:
        if self._rounds_done < self._policy.warmup_rounds:
            return "warm-up"
        if self._rounds_done < self._policy.warmup_rounds + self._policy.explore_rounds:
            return "explore"
        return "exploit"

    def _committed(self) -> int | None:
        if self._phase() != "exploit" or np.isnan(self._means).all():
            return None
        return int(np.nanargmax(self._means))
