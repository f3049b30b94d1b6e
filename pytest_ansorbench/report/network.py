"""The tasks of a network: the result of each one's search, and of the whole."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from pytest_ansorbench.records import Run, Trial
from pytest_ansorbench.report.cells import (
    Cell,
    Count,
    Decimals,
    Deviation,
    Gap,
    Index,
    Latency,
    Percentage,
    Text,
    Throughput,
    Work,
)
from pytest_ansorbench.report.sections import Column, Group, Lines, Sentence, Table, listed

_COLUMNS: Final = (
    Column("id", "id"),
    Column("task", "task", kind="words"),
    Column("weight", "weight"),
    Column("work", Work.UNIT, Work.UNIT),
    Column("latency", "latency", Latency.UNIT),
    Column("throughput", Throughput.UNIT, Throughput.UNIT),
    Column("share", "share"),
    Column("trials", "trials"),
)


def network_blocks(runs: Sequence[Run], depth: int) -> tuple[Lines | Table, ...]:
    """Describe one arm's runs of a network, task by task.

    Args:
        runs: Runs of one strategy on one case, at least one.
        depth: Levels of indentation.

    Returns:
        Sentences: how the latency estimated from the tasks compares with the one measured end to
        end; tasks without a valid schedule. Then a table like that of MetaSchedule's task
        scheduler, with the median over the runs of each task's best latency, the share of the
        whole that it takes, and the trials of all runs. Nothing for an operator.
    """
    if len(runs[0].tasks) < 2:
        return ()
    sentences = (*_measured(runs), *_lacking(runs))
    return Lines(sentences, depth), Table(_COLUMNS, (Group(_rows(runs)),), depth)


def _measured(runs: Sequence[Run]) -> Iterator[Sentence]:
    pairs = [
        (estimated, measured)
        for run in runs
        if run.final is not None
        and (measured := run.final.latency_s)
        and (estimated := run.estimated_s) is not None
    ]
    if pairs:
        yield (
            "measured ",
            _milliseconds(median(measured for _, measured in pairs)),
            " ms end to end, estimated ",
            _milliseconds(median(estimated for estimated, _ in pairs)),
            " ms from its tasks: off by ",
            Deviation(median(estimated / measured - 1.0 for estimated, measured in pairs)),
            ", medians",
        )


def _lacking(runs: Sequence[Run]) -> Iterator[Sentence]:
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
            Count(len(lacking)),
            " of ",
            Count(len(runs[0].tasks)),
            " tasks without a valid schedule in some run: ",
            *listed(map(Text, lacking)),
        )


def _rows(runs: Sequence[Run]) -> tuple[tuple[Cell, ...], ...]:
    tasks = runs[0].tasks
    best_s = [_median_s(trials) for trials in zip(*(run.best_trials for run in runs), strict=True)]
    total_s = sum(
        task.weight * latency_s
        for task, latency_s in zip(tasks, best_s, strict=True)
        if latency_s < math.inf
    )
    trials = [0] * len(tasks)
    for run in runs:
        for trial in run.trials:
            trials[run.task_of(trial)] += 1
    rows = []
    for index, (task, latency_s) in enumerate(zip(tasks, best_s, strict=True)):
        found: tuple[Cell, ...] = (Gap.IRRELEVANT,) * 3
        if latency_s < math.inf:
            found = (
                Latency(1e3 * latency_s, Decimals(4)),
                Throughput(task.flops / latency_s / 1e9, Decimals(1)),
                Percentage(task.weight * latency_s / total_s, Decimals(1)),
            )
        rows.append(
            (
                Index(index),
                Text(task.name),
                Count(task.weight),
                Work(task.flops / 1e6, Decimals(2)),
                *found,
                Count(trials[index]),
            )
        )
    return tuple(rows)


def _median_s(best_trials: Sequence[Trial | None]) -> float:
    """Median latency of a task's best trials, one a run; infinity if none is valid."""
    latencies = [best.latency_s for best in best_trials if best and best.latency_s]
    return median(latencies) if latencies else math.inf


def _milliseconds(seconds: float) -> Latency:
    return Latency(1e3 * seconds, Decimals(3))
