"""Tasks as tables: what there is to tune of a case, and what came of each task of a network."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from pytest_ansorbench.records import Run, Trial
from pytest_ansorbench.report.cells import Cell, Count, Gap, Number, Text
from pytest_ansorbench.report.sections import Column, Lines, Section, Table
from pytest_ansorbench.report.wording import counted
from pytest_ansorbench.search import TaskDescription

_NAMED: Final = (
    Column("id", "id"),
    Column("task", "task", kind="words"),
    Column("weight", "weight"),
    Column("work", "MFLOP", "MFLOP"),
)
_TO_TUNE: Final = (
    *_NAMED,
    Column("shapes", "shapes", kind="words"),
    Column("sketches", "sketches"),
)
_TUNED: Final = (
    *_NAMED,
    Column("latency", "latency", "ms"),
    Column("throughput", "GFLOP/s", "GFLOP/s"),
    Column("share", "share"),
    Column("trials", "trials"),
)


def tasks_table(tasks: Sequence[TaskDescription]) -> Section:
    """Tabulate the tasks of a case, at least one, in their order."""
    rows = (
        (
            Count(index),
            Text(task.name),
            Count(task.weight),
            Number.of(task.flops / 1e6, ".3f"),
            Text(_shapes(task)),
            Count(task.sketches) if task.tunable else Text("nothing to tune"),
        )
        for index, task in enumerate(tasks)
    )
    return Section("tasks", (Table.of(_TO_TUNE, rows),))


def tasks_sums(tasks: Sequence[TaskDescription]) -> Section:
    """How much there is to tune, and what a call of the case costs."""
    tunable = sum(task.tunable for task in tasks)
    calls = counted(sum(task.weight for task in tasks), "call")
    mflop = sum(task.weight * task.flops for task in tasks) / 1e6
    sums = (
        f"{counted(len(tasks), 'task')}, {tunable} to tune; {calls}, {mflop:.1f} MFLOP in all, as "
        "TVM counts them"
    )
    return Section("sums", (Lines((sums,)),))


def _shapes(task: TaskDescription) -> str:
    *inputs, output = ("x".join(map(str, shape)) or "scalar" for shape in task.shapes)
    return f"{', '.join(inputs)} -> {output}"


def network_blocks(runs: Sequence[Run], depth: int) -> tuple[Lines | Table, ...]:
    """Describe one arm's runs of a network, task by task; nothing for an operator.

    The table is like that of MetaSchedule's task scheduler: the median over the runs of each task's
    best latency, the share of the whole that it takes, and the trials of all runs.
    """
    if len(runs[0].tasks) < 2:
        return ()
    return Lines((*_measured(runs), *_lacking(runs)), depth), Table.of(_TUNED, _rows(runs), depth)


def _measured(runs: Sequence[Run]) -> Iterator[str]:
    """How the latency estimated from the tasks compares with the one measured end to end."""
    pairs = [
        (estimated, measured)
        for run in runs
        if run.final is not None
        and (measured := run.final.latency_s)
        and (estimated := run.estimated_s) is not None
    ]
    if pairs:
        measured_ms = 1e3 * median(measured for _, measured in pairs)
        estimated_ms = 1e3 * median(estimated for estimated, _ in pairs)
        off = median(estimated / measured - 1.0 for estimated, measured in pairs)
        yield (
            f"measured {measured_ms:.3f} ms end to end, estimated {estimated_ms:.3f} ms from its "
            f"tasks: off by {off:+.1%}, medians"
        )


def _lacking(runs: Sequence[Run]) -> Iterator[str]:
    lacking = sorted(
        {
            task.name
            for run in runs
            for task, best in zip(run.tasks, run.best_trials, strict=True)
            if best is None
        }
    )
    if lacking:
        yield (
            f"{len(lacking)} of {len(runs[0].tasks)} tasks without a valid schedule in some run: "
            f"{', '.join(lacking)}"
        )


def _rows(runs: Sequence[Run]) -> Iterator[tuple[Cell, ...]]:
    tasks = runs[0].tasks
    best_s = [_median_s(trials) for trials in zip(*(run.best_trials for run in runs), strict=True)]
    total_s = sum(
        task.weight * latency_s
        for task, latency_s in zip(tasks, best_s, strict=True)
        if latency_s < math.inf
    )
    trials = Counter(run.task_of(trial) for run in runs for trial in run.trials)
    for index, (task, latency_s) in enumerate(zip(tasks, best_s, strict=True)):
        found: tuple[Cell, ...] = (Gap.IRRELEVANT,) * 3
        if latency_s < math.inf:
            found = (
                Number.of(1e3 * latency_s, ".4f"),
                Number.of(task.flops / latency_s / 1e9, ".1f"),
                Number.of(task.weight * latency_s / total_s, ".1%"),
            )
        work = Number.of(task.flops / 1e6, ".2f")
        named = (Count(index), Text(task.name), Count(task.weight), work)
        yield (*named, *found, Count(trials[index]))


def _median_s(best_trials: Sequence[Trial | None]) -> float:
    """Median latency of a task's best trials, one a run; infinity if none is valid."""
    latencies = [best.latency_s for best in best_trials if best and best.latency_s]
    return median(latencies) if latencies else math.inf
