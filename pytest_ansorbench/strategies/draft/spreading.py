"""First points of a search, chosen to be far from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def farthest_first(rows: NDArray[np.float32]) -> list[int]:
    """Order points so that each is as far as can be from those before it.

    The greedy 2-approximation of the k-center problem, for every k at once (Gonzalez 1985,
    Clustering to minimize the maximum intercluster distance).

    Args:
        rows: Features, shape (points, columns); NaN where a point does not have one.

    Returns:
        Indices of the points; the first stays first.
    """
    if not len(rows):
        return []
    filled = np.nan_to_num(rows.astype(np.float64))
    spread = filled.std(axis=0)
    scaled = filled / np.where(spread > 0.0, spread, 1.0)
    order = [0]
    distance = np.sum((scaled - scaled[0]) ** 2, axis=1)
    distance[0] = -1.0
    while len(order) < len(rows):
        farthest = int(np.argmax(distance))
        order.append(farthest)
        distance = np.minimum(distance, np.sum((scaled - scaled[farthest]) ** 2, axis=1))
        distance[order] = -1.0
    return order
