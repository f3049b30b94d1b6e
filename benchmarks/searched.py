"""Searches as benchmarks need them on the way to what they measure."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pytest_ansorbench.search import Search
from pytest_ansorbench.strategies import Registry, Strategy

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.search.task_search import Best
    from pytest_ansorbench.workloads.case import Case, Task


def searched(
    case: Case,
    tasks: Sequence[Task],
    strategy: Strategy | str,
    engine: Engine,
    trials: int,
    round_trials: int,
    seed: int = 0,
) -> Search:
    """A search that has spent its trials."""
    if isinstance(strategy, str):
        strategy = Registry().get(strategy)
    search = Search(
        case,
        tasks,
        strategy,
        engine,
        seed=seed,
        budget_trials=trials,
        round_trials=round_trials,
    )
    with closing(search):
        while not search.finished:
            search.step()
    return search


def bests(search: Search) -> list[Best]:
    """The best program of each task.

    Raises:
        SystemExit: A task has no valid trial.
    """
    lacking = [task.task.name for task in search.tasks if task.best is None]
    if lacking:
        raise SystemExit(f"no valid trial of {', '.join(lacking)}: try more trials")
    return [task.best for task in search.tasks if task.best is not None]
