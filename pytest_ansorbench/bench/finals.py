"""What the searches of a repeat came to, measured again side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pytest_ansorbench.measure.untuned import network_check
from pytest_ansorbench.workloads.networks.apply import with_schedules

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.measure.outcomes import Measured
    from pytest_ansorbench.records import Remeasurement
    from pytest_ansorbench.search.loop import Search
    from pytest_ansorbench.workloads.case import Check, NetworkCase, Task


class Finals(Protocol):
    """Measures winners against each other."""

    def measure(self, searches: Sequence[Search], samples: int) -> tuple[Remeasurement, ...]:
        """Measure the winners of finished searches, each in a fresh process, in turn.

        Args:
            searches: One an arm.
            samples: Samples a winner.

        Returns:
            One re-measurement an arm.

        Raises:
            WorkerError: The engine is broken.
        """
        ...


class KernelFinals:
    """The best kernels of an operator."""

    def __init__(self, engine: Engine, task: Task) -> None:
        """Prepare for an operator with this task."""
        self._engine = engine
        self._task = task

    def measure(self, searches: Sequence[Search], samples: int) -> tuple[Remeasurement, ...]:
        """See `Finals`."""
        best = [search.tasks[0].best for search in searches]
        measured = self._engine.remeasure(
            [(each.mod, each.args_info) if each else None for each in best],
            self._task.check,
            samples=samples,
        )
        return _finals(searches, measured)


class NetworkFinals:
    """Whole networks, compiled with the best program that was found for each task.

    A task without a valid trial stays as it is, untuned.
    """

    def __init__(self, engine: Engine, case: NetworkCase, tasks: Sequence[Task]) -> None:
        """Prepare for a network with these tasks."""
        self._engine = engine
        self._case = case
        self._tasks = tasks
        self._program = case.program()
        self._check: Check | None = None

    def measure(self, searches: Sequence[Search], samples: int) -> tuple[Remeasurement, ...]:
        """See `Finals`; outputs are compared with those of the untuned network."""
        if self._check is None:  # an inference untuned may take a minute: once is enough
            self._check = network_check(self._engine, self._case, self._program)
        programs = [
            with_schedules(
                self._program,
                self._tasks,
                [each.best.mod if each.best else None for each in search.tasks],
            )
            for search in searches
        ]
        measured = self._engine.remeasure_networks(programs, self._check, samples=samples)
        return _finals(searches, measured)


def _finals(
    searches: Sequence[Search], measured: Sequence[Measured | None]
) -> tuple[Remeasurement, ...]:
    return tuple(search.final(outcome) for search, outcome in zip(searches, measured, strict=True))
