"""Which of a result's winners are worth making again."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_ansorbench.winners import Winner


def fastest(winners: Iterable[Winner]) -> list[Winner]:
    """The fastest schedule of each task.

    Args:
        winners: Winners of any arms and seeds.

    Returns:
        One a task, in order of the tasks' appearance.
    """
    best: dict[tuple[str, int], Winner] = {}
    for winner in winners:
        known = best.setdefault((winner.case, winner.place), winner)
        if winner.latency_s < known.latency_s:
            best[winner.case, winner.place] = winner
    return list(best.values())
