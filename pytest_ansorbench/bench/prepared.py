"""What all repeats of a case share: its tasks with checks, and how runs are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.budget import Budget
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.untuned import network_check, task_check
from pytest_ansorbench.records import Checked
from pytest_ansorbench.stats.criteria import Progress
from pytest_ansorbench.workloads.case import NetworkCase
from pytest_ansorbench.yardsticks import PeerProgram

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Case, Check, Task


@dataclass(frozen=True, eq=False)
class Network:
    """What a network is judged by, end to end."""

    mod: IRModule  # its program, a fused Relax module without schedules
    check: Check  # its arguments, and what the untuned program makes of them
    untuned_s: float  # of a first call of that


@dataclass(frozen=True, eq=False)
class PreparedCase:
    """A case that is ready to be run."""

    case: Case  # the case
    tasks: tuple[Task, ...]  # its tasks; those of a network have checks from their untuned programs
    network: Network | None = None  # the whole; None for an operator, whose only task is all of it
    peers: tuple[PeerProgram, ...] = ()  # other libraries that take turns with its winners

    @property
    def check(self) -> Check | None:
        """What its winners are held to."""
        return self.network.check if self.network else self.tasks[0].check

    @property
    def checked(self) -> Checked | None:
        check = self.check
        if check is None:
            return None
        tasks = self.tasks if self.network else ()
        drawn = tuple(task.check.drawn for task in tasks if task.check is not None)
        return Checked(check.drawn, len(check.outputs), drawn)


@dataclass(frozen=True)
class RunPlan:
    """How the runs of one repeat are made; the same for all repeats of a case."""

    budget: Budget  # trials of one run and of one round, seconds of a run
    scheduler: str  # shares rounds out among the tasks of a network; a key of `SCHEDULERS`
    final: SideBySide  # how winners are measured against each other
    # Whether leads are measured again, so that progress is confirmed
    progress: Progress = "confirmed"

    def with_slices(self, slice_ms: float) -> RunPlan:
        """With final measurements in slices of another length; samples stay as they are."""
        if self.final.rest_ms:  # so are samples
            return self
        return replace(self, final=replace(self.final, slice_ms=slice_ms))

    def conditions(self, tasks: int) -> dict[str, Any]:
        """What of it decides the measurements, as JSON values."""
        return {
            "trials": self.budget.in_all(tasks),
            "round_trials": self.budget.a_round(tasks),
            "run_time_s": self.budget.run_time_s,
            "order": "interleaved",  # the only one; older journals name it
            "scheduler": self.scheduler if tasks > 1 else "",
            **{f"final_{name}": value for name, value in self.final.conditions().items()},
            "progress": self.progress,
        }


def prepare(
    case: Case, tasks: Sequence[Task], engine: Engine, note: Callable[[str], None]
) -> PreparedCase:
    """Run untuned programs without a reference, so that tuned ones can be held to their outputs."""
    checked = []
    for place, task in enumerate(tasks, start=1):
        if task.check is None:
            note(f"{case.id}  running {place}/{len(tasks)} untuned: {task.name}")
            task = replace(task, check=task_check(engine, task))
        checked.append(task)
    if not isinstance(case, NetworkCase):
        return PreparedCase(case, tuple(checked))
    note(f"{case.id}  running the whole network untuned")
    mod = case.program()
    network = Network(mod, *network_check(engine, case, mod, tasks))
    return PreparedCase(case, tuple(checked), network)
