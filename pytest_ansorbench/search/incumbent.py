"""The process of a task's best program, for policies that compare candidates with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.outcomes import Built

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.search.task_search import Best
    from pytest_ansorbench.workloads.case import Task

# Of one program: what fails more often is not worth its patience.
_MOST_REBUILDS: Final = 3


class Incumbent:
    """Holds the process of one task's best program for as long as it leads."""

    def __init__(self, engine: Engine, *, missing: bool) -> None:
        # As the engine kept it; None while there is none.
        self.built: Built | None = None
        self._engine = engine
        # Whether there is a best program without a process, as after an interruption.
        self._missing = missing
        self._rebuilds = 0

    def restore(self, best: Best, task: Task) -> None:
        """Build the best program again if its process was lost."""
        if not self._missing or self._rebuilds == _MOST_REBUILDS:
            return
        self._rebuilds += 1
        [built] = self._engine.build([best.program(task.surroundings)], task.check)
        if built.handle is not None:
            self.built, self._missing = built, False

    def lose(self) -> None:
        """Its process failed or died; let go of what is left, to be built again."""
        self.close()
        self._missing = True

    def succeed(self, kept: Built | None) -> None:
        """Another program is the best now, if the engine kept it; let go of the former one."""
        self.close()
        self.built, self._missing, self._rebuilds = kept, False, 0

    def close(self) -> None:
        if self.built is not None:
            self._engine.discard(self.built)
        self.built = None
