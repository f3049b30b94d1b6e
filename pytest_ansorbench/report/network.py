"""What became of each task of a network, and what the whole came to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from tabulate import tabulate

from pytest_ansorbench.records import Run, Trial
from pytest_ansorbench.report.text import printable


def describe_network(runs: Sequence[Run]) -> tuple[str, ...]:
    """Describe one arm's runs of a network, task by task.

    Args:
        runs: Runs of one strategy on one case, at least one.

    Returns:
        Lines: how the latency estimated from the tasks compares with the one measured end to
        end; tasks without a valid schedule; then a table like that of MetaSchedule's task
        scheduler, with the median over the runs of each task's best latency, the share of the
        whole that it takes, and the trials of all runs. Nothing for an operator.
    """
    if len(runs[0].tasks) < 2:
        return ()
    return tuple(_lines(runs))


def _lines(runs: Sequence[Run]) -> Iterator[str]:
    pairs = [
        (estimated, measured)
        for run in runs
        if run.final is not None
        and (measured := run.final.latency_s)
        and (estimated := run.estimated_s) is not None
    ]
    if pairs:
        errors = [estimated / measured - 1.0 for estimated, measured in pairs]
        yield (
            f"measured {_ms(median(measured for _, measured in pairs))} ms end to "
            f"end, estimated {_ms(median(estimated for estimated, _ in pairs))} ms from its "
            f"tasks: off by {100 * median(errors):+.1f}%, medians"
        )
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
            f"{printable(', '.join(lacking))}"
        )
    yield from _table(runs).splitlines()


def _table(runs: Sequence[Run]) -> str:
    tasks = runs[0].tasks
    best_s = [_median_s(each) for each in zip(*(run.best_trials for run in runs), strict=True)]
    total_s = sum(
        task.weight * each for task, each in zip(tasks, best_s, strict=True) if each < math.inf
    )
    trials = [0] * len(tasks)
    for run in runs:
        for trial in run.trials:
            trials[run.task_of(trial)] += 1
    rows = []
    for index, (task, latency_s) in enumerate(zip(tasks, best_s, strict=True)):
        known = latency_s < math.inf
        rows.append(
            [
                index,
                printable(task.name),
                task.weight,
                f"{task.flops / 1e6:.2f}",
                f"{1e3 * latency_s:.4f}" if known else "-",
                f"{task.flops / latency_s / 1e9:.1f}" if known else "-",
                f"{100 * task.weight * latency_s / total_s:.1f}%" if known else "-",
                trials[index],
            ]
        )
    headings = ["id", "task", "weight", "MFLOP", "latency (ms)", "GFLOP/s", "share", "trials"]
    table: str = tabulate(
        rows,
        headers=headings,
        colalign=("right", "left", *["right"] * 6),
        disable_numparse=True,
    )
    return table


def _median_s(best_trials: Sequence[Trial | None]) -> float:
    """Median latency of a task's best trials, one a run; infinity if none is valid."""
    latencies = [best.latency_s for best in best_trials if best and best.latency_s]
    return median(latencies) if latencies else math.inf


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3f}"
