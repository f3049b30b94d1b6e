"""The process of a task's best program, for policies that compare candidates with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.program import Program

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.search.task_search import Best
    from pytest_ansorbench.workloads.case import Task

_MOST_REBUILDS: Final = 3
"""Of one program: what fails more often is not worth its patience."""


class Incumbent:
    """Holds the process of one task's best program for as long as it leads.

    Attributes:
        built: The program as the engine kept it; None while there is none.
    """

    def __init__(self, engine: Engine, *, missing: bool) -> None:
        """Hold nothing.

        Args:
            engine: Keeps the process.
            missing: Whether there is a best program already, without a process, as after an
                interruption.
        """
        self.built: Built | None = None
        self._engine = engine
        self._missing = missing
        self._rebuilds = 0

    def restore(self, best: Best, task: Task) -> None:
        """Build the best program again if its process was lost. Takes as long as a trial's build.

        Args:
            best: The task's best trial.
            task: The task.

        Raises:
            EngineError: The engine cannot go on.
        """
        if not self._missing or self._rebuilds == _MOST_REBUILDS:
            return
        self._rebuilds += 1
        program = Program.kernel(best.mod, best.args_info, task.surroundings)
        [built] = self._engine.build([program], task.check)
        if built.handle is not None:
            self.built, self._missing = built, False

    def lose(self) -> None:
        """Its process failed or died; let go of what is left, to be built again."""
        self.close()
        self._missing = True

    def succeed(self, kept: Built | None) -> None:
        """Another program leads now; let go of the former one.

        Args:
            kept: The new one; None if the engine did not keep it.
        """
        self.close()
        self.built, self._missing, self._rebuilds = kept, False, 0

    def close(self) -> None:
        """Let go of the process. Does nothing if there is none."""
        if self.built is not None:
            self._engine.discard(self.built)
        self.built = None
