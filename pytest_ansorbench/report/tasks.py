"""The tasks of a case as a table."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from pytest_ansorbench.report.text import printable
from pytest_ansorbench.search import TaskDescription


def render_tasks(tasks: Sequence[TaskDescription]) -> str:
    """Render the tasks of a case, in their order, and what they come to.

    Args:
        tasks: The tasks, at least one.

    Returns:
        A table of plain text, then a sentence with the sums.
    """
    rows = [
        [
            str(index),
            printable(task.name),
            str(task.weight),
            f"{task.flops / 1e6:.3f}",
            _shapes(task.shapes),
            str(task.sketches) if task.tunable else "nothing to tune",
        ]
        for index, task in enumerate(tasks)
    ]
    table: str = tabulate(
        rows,
        headers=["id", "task", "weight", "MFLOP", "shapes", "sketches"],
        colalign=("right", "left", "right", "right", "left", "right"),
        disable_numparse=True,
    )
    total = sum(task.weight * task.flops for task in tasks)
    tunable = sum(task.tunable for task in tasks)
    calls = sum(task.weight for task in tasks)
    return (
        f"{table}\n\n{_count(len(tasks), 'task')}, {tunable} to tune; {_count(calls, 'call')}, "
        f"{total / 1e6:.1f} MFLOP in all, as TVM counts them"
    )


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    *inputs, output = ["x".join(map(str, shape)) or "scalar" for shape in shapes]
    return f"{', '.join(inputs)} -> {output}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
