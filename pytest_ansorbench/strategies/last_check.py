"""A last look at the fastest few of a run before it names its winner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.strategies.checks import require_at_least, require_share

_BRIEF: Final = SideBySide(precision=0.005, turns=Span(10, 30), sets=Span(2, 2), most_s=5.0)


@dataclass(frozen=True)
class LastCheck:
    """When a search has spent its trials: the fastest few again, side by side, on its clock.

    Of many trials the one with the best latency is often one that was lucky. Measured against
    each other in slices, in turn, luck goes by. The fastest trial stays the winner unless another
    one is clearly faster: the interval of their ratio excludes 1.

    Attributes:
        top: Programs to compare, of each task; at least 2.
        within: Latency over the task's best, less 1, up to which a program is compared: what
            looked slower than that is slower.
        share: Share of the search time so far after which no further task is begun. The task
            that takes most of the case's time comes first, and is always checked.
        effort: How long they run.

    Raises:
        ValueError: A number is out of range.
    """

    top: int = 5
    within: float = 0.1
    share: float = 0.05
    effort: SideBySide = _BRIEF

    def __post_init__(self) -> None:
        require_at_least(self, "top", 2, 5)
        require_share(self, "within", 0.1)
        require_share(self, "share", 0.05)
