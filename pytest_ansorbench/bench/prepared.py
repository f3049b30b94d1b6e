"""A case with all that its repeats share: tasks with checks, and how the whole is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ansorbench.measure.untuned import network_check, task_check
from pytest_ansorbench.workloads.case import NetworkCase

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Case, Check, Task


@dataclass(frozen=True, eq=False)
class Network:
    """What a network is judged by, end to end."""

    mod: IRModule  # its program, a fused Relax module without schedules
    check: Check  # its arguments, and what the untuned program makes of them


@dataclass(frozen=True, eq=False)
class PreparedCase:
    """A case that is ready to be run."""

    case: Case  # the case
    tasks: tuple[Task, ...]  # its tasks; those of a network have checks from their untuned programs
    network: Network | None = None  # the whole; None for an operator, whose only task is all of it


def prepare(
    case: Case, tasks: Sequence[Task], engine: Engine, note: Callable[[str], None]
) -> PreparedCase:
    """Run a network's untuned programs, so that tuned ones can be held to their outputs."""
    if not isinstance(case, NetworkCase):
        return PreparedCase(case, tuple(tasks))
    checked = []
    for place, task in enumerate(tasks, start=1):
        note(f"{case.id}  running {place}/{len(tasks)} untuned: {task.name}")
        check = task.check if task.check is not None else task_check(engine, task)
        checked.append(replace(task, check=check))
    note(f"{case.id}  running the whole network untuned")
    mod = case.program()
    return PreparedCase(case, tuple(checked), Network(mod, network_check(engine, case, mod)))
