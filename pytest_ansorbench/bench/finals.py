"""The winners of a repeat, measured again side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_ansorbench.bench.prepared import PreparedCase
from pytest_ansorbench.measure.outcomes import MeasuredInTurn
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.search.task_search import Best
from pytest_ansorbench.workloads.networks.apply import with_schedules

if TYPE_CHECKING:
    from pytest_ansorbench.bench.arms import FinishedSearch
    from pytest_ansorbench.measure.engine import Engine


def measure_winners(
    prepared: PreparedCase, searches: Sequence[FinishedSearch], engine: Engine, effort: SideBySide
) -> tuple[Remeasurement, ...]:
    """Measure the winners of finished searches against each other.

    Args:
        prepared: The case.
        searches: One an arm.
        engine: Builds and measures.
        effort: How long, and how surely.

    Returns:
        One re-measurement an arm; an operator without a valid trial has none to be measured.

    Raises:
        EngineError: The engine is broken.
    """
    winners = [winner(prepared, search) for search in searches]
    check = prepared.network.check if prepared.network else prepared.tasks[0].check
    present = [program for program in winners if program is not None]
    outcomes = iter(engine.measure_side_by_side(present, check, effort))
    return tuple(
        _remeasurement(search, None if program is None else next(outcomes))
        for search, program in zip(searches, winners, strict=True)
    )


def winner(prepared: PreparedCase, search: FinishedSearch) -> Buildable | None:
    """What a search came to: its best kernel, or the network with the best kernel of each task.

    A task of a network without a valid trial stays as it is, untuned.

    Returns:
        The program; None for an operator without a valid trial.
    """
    best = [task.best for task in search.tasks]
    if prepared.network is None:
        return None if best[0] is None else best[0].program()
    scheduled = [kernel.mod if isinstance(kernel, Best) else None for kernel in best]
    return Program.network(with_schedules(prepared.network.mod, prepared.tasks, scheduled))


def _remeasurement(search: FinishedSearch, outcome: MeasuredInTurn | None) -> Remeasurement:
    if outcome is None:
        return Remeasurement(None, "run-error", (), "no valid trial")
    best = search.tasks[0].best if len(search.tasks) == 1 else None
    trial = best.index if best is not None else None
    return outcome.remeasured(trial)
