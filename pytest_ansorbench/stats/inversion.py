"""A test inverted into an interval: the ratios that it does not reject, from one of them outwards.

A relabelling has a ladder of its own, so that a test may reject a ratio and keep one a little
further out. An interval reaches to the outermost ratio that is found to be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

STRIDE: Final = 0.02  # between ratios that are looked at beyond a rejected one, as logarithm
BEYOND: Final = 1.0  # how far beyond all gaps between runs ratios are tested, as logarithm

Place = TypeVar("Place", int, float)  # a ratio, or the number of a stretch of equivalent ratios
Kept = Callable[[Place], bool]
Halfway = Callable[[Place, Place], Place | None]  # None between places that are next to each other


def outermost(
    kept: Kept[Place],
    inside: Place,
    beyond: Place,
    halfway: Halfway[Place],
    ahead: Callable[[Place, Place], Iterable[tuple[Place, Place]]],
) -> tuple[Place, Place]:
    """The last place that is kept and the first that is rejected, on the way out.

    From the first such pair, `ahead` names places to look at, the farthest first, and how far the
    search goes on from each.
    """
    found = last_kept(kept, inside, beyond, halfway)
    for place, limit in ahead(*found):
        if kept(place):
            return last_kept(kept, place, limit, halfway)
    return found


def last_kept(
    kept: Kept[Place], inside: Place, beyond: Place, halfway: Halfway[Place]
) -> tuple[Place, Place]:
    """The same by bisection alone; twice `beyond` if even that is kept."""
    if kept(beyond):
        return beyond, beyond
    while (middle := halfway(inside, beyond)) is not None:
        if kept(middle):
            inside = middle
        else:
            beyond = middle
    return inside, beyond
