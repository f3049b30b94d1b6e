"""Which of the winners of results are worth making again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_ansorbench.winners import Winner


def fastest(winners: Iterable[Winner]) -> list[Winner]:
    """The fastest schedule of each task, in order of the tasks' appearance."""
    best: dict[tuple[str, int], Winner] = {}
    for winner in winners:
        known = best.setdefault((winner.case, winner.place), winner)
        if winner.latency_s < known.latency_s:
            best[winner.case, winner.place] = winner
    return list(best.values())


def fastest_of_arms(winners: Sequence[Winner], arms: Sequence[str]) -> list[tuple[Winner, ...]]:
    """Of each task that all of some arms have tuned, each arm's fastest schedule.

    Programs have to be equal: an arm that tuned another version of a task has not tuned it.
    """
    of_arm = [
        {(one.case, one.place): one for one in fastest(w for w in winners if w.strategy == arm)}
        for arm in arms
    ]
    rows = []
    for task in of_arm[0]:
        row = tuple(known[task] for known in of_arm if task in known)
        if len(row) == len(arms) and len({one.program for one in row}) == 1:
            rows.append(row)
    return rows
