"""How much of a batch looks elsewhere when a search no longer gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ansorbench.strategies.checks import require_at_least, require_share
from pytest_ansorbench.strategies.draft.neighbourhood import Point


@dataclass(frozen=True)
class Escape:
    """The longer nothing is gained, the more drafts are far from the best program.

    A model that has seen a hundred neighbours of one fast program knows them well, and of all else
    it promises less: batch after batch stays there, at 0.95 to 1.00 of the best. Drafts that
    escape are the most promising ones that differ from the best program in half of their decisions
    or more; parents of their neighbourhood are of that kind as well.

    Attributes:
        patience: Trials without a gain before any draft escapes.
        rise: Trials from there to the largest share.
        most: That share of a batch's drafts.
        gain: What counts as one, as share of the best before it.
    """

    patience: int = 16
    rise: int = 48
    most: float = 0.5
    gain: float = 0.01

    def __post_init__(self) -> None:
        require_at_least(self, "patience", 0, example=16)
        require_at_least(self, "rise", 1, example=48)
        require_share(self, "most", example=0.5)
        if not self.gain >= 0.0:
            raise ValueError(f"bad gain {self.gain}: expected 0 or more, e.g. 0.01")

    def share(self, gflops: Sequence[float]) -> float:
        """The share of drafts that escape.

        Args:
            gflops: Throughput of each trial of the task, in order; 0 for a failed one.
        """
        best, since = 0.0, 0
        for value in gflops:
            if value > best * (1.0 + self.gain):
                best, since = value, 0
            else:
                since += 1
        return self.most * min(1.0, max(0, since - self.patience) / self.rise)

    @staticmethod
    def is_far(point: Point, home: Point) -> bool:
        """Whether two points are of different sketches, or half of their decisions differ."""
        if point[0] != home[0]:
            return True
        differing = sum(one != other for one, other in zip(point[1], home[1], strict=True))
        return 2 * differing >= len(home[1])
