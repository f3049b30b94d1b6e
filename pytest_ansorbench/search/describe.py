"""Describes the tasks of a case: shapes, FLOP, and the size of the design space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ansorbench.measure.arguments import shapes_of
from pytest_ansorbench.search.sketches import has_choices
from pytest_ansorbench.strategies.checked import generated_sketches, start_space

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.strategies.strategy import Strategy
    from pytest_ansorbench.workloads.case import Task


@dataclass(frozen=True)
class TaskDescription:
    """A task, and the size of its design space."""

    name: str
    weight: int
    flops: int
    shapes: tuple[tuple[int, ...], ...]  # of the arguments, the output last
    sketches: int
    tunable: bool  # whether any sketch leaves a decision to be made


def describe_tasks(
    tasks: Sequence[Task], target: Target, strategy: Strategy
) -> list[TaskDescription]:
    """The tasks with the sizes of their design spaces by a strategy."""
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    descriptions = []
    for task in tasks:
        context = TuneContext(
            task.mod,
            target=target,
            space_generator=start_space(strategy, target),
            task_name=task.name,
        )
        sketches = generated_sketches(strategy, context)
        shapes = shapes_of(ArgInfo.from_entry_func(task.mod, remove_preproc=True))
        descriptions.append(
            TaskDescription(
                name=task.name,
                weight=task.weight,
                flops=task.flops,
                shapes=tuple(tuple(shape) for _, shape in shapes),
                sketches=len(sketches),
                tunable=has_choices(sketches),
            )
        )
    return descriptions
