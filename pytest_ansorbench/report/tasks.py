"""The tasks of a case, as a table and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.report.cells import (
    Cell,
    Count,
    Counted,
    Decimals,
    Index,
    Shapes,
    Text,
    Work,
)
from pytest_ansorbench.report.sections import Column, Group, Lines, Section, Sentence, Table
from pytest_ansorbench.search import TaskDescription

_COLUMNS: Final = (
    Column("id", "id"),
    Column("task", "task", kind="words"),
    Column("weight", "weight"),
    Column("work", Work.UNIT, Work.UNIT),
    Column("shapes", "shapes", kind="words"),
    Column("sketches", "sketches"),
)


def tasks_table(tasks: Sequence[TaskDescription]) -> Section:
    """Tabulate the tasks of a case, in their order.

    Args:
        tasks: The tasks, at least one.
    """
    rows = tuple(_row(index, task) for index, task in enumerate(tasks))
    return Section("tasks", (Table(_COLUMNS, (Group(rows),)),))


def tasks_sums(tasks: Sequence[TaskDescription]) -> Section:
    """Say in a sentence how much there is to tune, and what a call of the case costs."""
    sums: Sentence = (
        Counted(len(tasks), "task"),
        ", ",
        Count(sum(task.tunable for task in tasks)),
        " to tune; ",
        Counted(sum(task.weight for task in tasks), "call"),
        ", ",
        Work(sum(task.weight * task.flops for task in tasks) / 1e6, Decimals(1)),
        " MFLOP in all, as TVM counts them",
    )
    return Section("sums", (Lines((sums,)),))


def _row(index: int, task: TaskDescription) -> tuple[Cell, ...]:
    *inputs, output = task.shapes
    return (
        Index(index),
        Text(task.name),
        Count(task.weight),
        Work(task.flops / 1e6, Decimals(3)),
        Shapes(tuple(inputs), output),
        Count(task.sketches) if task.tunable else Text("nothing to tune"),
    )
