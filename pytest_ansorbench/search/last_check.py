"""The last check of a run: the fastest few of each task against each other, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ansorbench.records import Remeasurement, TaskRanking
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.search.task_search import Best, TaskSearch
    from pytest_ansorbench.strategies.strategy import LastCheck


def rank_tasks(
    tasks: Sequence[TaskSearch],
    engine: Engine,
    policy: LastCheck,
    late: Callable[[], bool],
) -> tuple[TaskRanking, ...]:
    """Compare the fastest few of each task, and crown the fastest of them.

    Tasks that take most of the case's time come first. A task whose best has no rival close by
    is passed over.
    """
    rankings: list[TaskRanking] = []
    for index in sorted(range(len(tasks)), key=lambda i: -_share_s(tasks[i])):
        rivals = _rivals(tasks[index], policy, engine.capacity)
        if len(rivals) < 2:
            continue
        if rankings and late():
            break
        task = tasks[index].task
        outcomes = engine.measure_side_by_side(
            [rival.program(task.surroundings) for rival in rivals],
            task.check,
            policy.effort,
        )
        compared = tuple(
            replace(outcome, trial=rival.index)
            for rival, outcome in zip(rivals, outcomes, strict=True)
        )
        ranking = TaskRanking(index, compared, crowned(compared))
        tasks[index].crown(ranking.crowned)
        rankings.append(ranking)
    return tuple(rankings)


def crowned(compared: Sequence[Remeasurement]) -> int:
    """Index of the trial that wins, of programs measured side by side, the fastest trial first.

    The fastest trial, or the next one if it failed now; unless another program is clearly faster:
    then the fastest of all by the ratio.
    """
    valid = [one for one in compared if one.status == "ok"] or list(compared)
    first = valid[0]
    best, best_log = first, 0.0
    for other in valid[1:]:
        ratios = NeighbourRatios.of(other, first)
        if ratios is None or ratios.log_ratio + ratios.half_width() >= 0.0:
            continue
        if ratios.log_ratio < best_log:
            best, best_log = other, ratios.log_ratio
    assert best.trial is not None
    return best.trial


def _share_s(task: TaskSearch) -> float:
    return task.task.weight * task.best.latency_s if task.best else 0.0


def _rivals(task: TaskSearch, policy: LastCheck, capacity: int) -> list[Best]:
    if task.best is None:
        return []
    limit_s = (1.0 + policy.within) * task.best.latency_s
    return [trial for trial in task.fastest if trial.latency_s <= limit_s][:capacity]
