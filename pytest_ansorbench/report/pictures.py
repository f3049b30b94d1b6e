"""What figures show best: ratios with their intervals, seconds by phase, sketches over trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from pytest_ansorbench.records import CaseResult, Comparison, Run, SuiteVerdict
from pytest_ansorbench.report.cells import Cell, Count, Number, Text
from pytest_ansorbench.report.columns import case_rows
from pytest_ansorbench.report.sections import (
    Axis,
    Bars,
    Block,
    Column,
    Forest,
    Interval,
    Lines,
    Stack,
    Table,
)
from pytest_ansorbench.report.wording import percent_text
from pytest_ansorbench.stats.distribution import Ways
from pytest_ansorbench.stats.suite import ALL_CASES

RATIOS: Final = {
    "search_ratio": Axis("search ratio S; below 1 the challenger is faster"),
    "throughput_ratio": Axis("throughput ratio; above 1 the challenger's kernels are faster"),
}
"""The ratios that have a forest plot, and its axis."""

_FAILURES: Final = (
    Column("strategy", "strategy", kind="words"),
    Column("status", "failed trials", kind="words"),
    Column("count", "count"),
    Column("error", "first line of the message", kind="words"),
)
_FINALS: Final = (
    Column("strategy", "final measurement", kind="words"),
    Column("seed", "seed"),
    Column("slices", "slices"),
    Column("fastest", "fastest", "ms"),
    Column("quartile_1", "first quartile", "ms"),
    Column("median", "median", "ms"),
    Column("quartile_3", "third quartile", "ms"),
    Column("slowest", "slowest", "ms"),
)


def forests(cases: Sequence[CaseResult], suites: Sequence[SuiteVerdict]) -> Iterator[Forest]:
    """Draw S and the throughput ratio of every case, and of all of them.

    Each has the limit that its gates have in common, if they have.
    """
    for metric, axis in RATIOS.items():
        rows = [
            Interval(_compared(case, verdict.comparison), getattr(verdict.comparison, metric))
            for case in cases
            for verdict in case.verdicts
        ]
        rows += [
            Interval(f"{ALL_CASES}, {suite.challenger}", suite.figure(metric).estimate, "summary")
            for suite in suites
            if not suite.group and len(suite.cases) > 1
        ]
        limits = {gate.limit for case in cases for gate in case.gates if gate.metric == metric}
        limits |= {gate.limit for suite in suites for gate in suite.gates if gate.metric == metric}
        yield Forest.of(axis, rows, limits.pop() if len(limits) == 1 else None)


def _compared(case: CaseResult, compared: Comparison) -> str:
    name = compared.challenger.strategy
    return case.case if len(case.strategies) == 2 else f"{case.case}, {name}"


def ablation(suites: Sequence[SuiteVerdict]) -> Iterator[Forest]:
    """Draw S and the throughput ratio of each challenger over all cases."""
    for metric, axis in RATIOS.items():
        of_all = (suite for suite in suites if not suite.group)
        rows = (Interval(one.challenger, one.figure(metric).estimate) for one in of_all)
        yield Forest.of(axis, rows)


def way(case: CaseResult, ways: Ways) -> Forest:
    """Draw the ratio of the times to each target along the way of the reference."""
    rows = (
        Interval(f"{strategy} to {percent_text(stone.share)} of the gain", stone.ratio)
        for strategy in case.strategies[1:]
        for stone in ways.get(strategy, ())
    )
    return Forest.of(Axis("time to target, challenger over reference"), rows)


def phases(case: CaseResult) -> Bars:
    """Draw where the seconds of a run went, for each arm that has one."""
    stacks = tuple(
        Stack(row.strategy, (arm.propose_s, arm.build_s, arm.run_s, arm.learn_s))
        for row in case_rows(case)
        if (arm := row.arm) is not None
    )
    return Bars(Axis("search time of a run", "s"), ("propose", "build", "run", "learn"), stacks)


def sketch_shares(case: CaseResult, strategy: str) -> Iterator[Block]:
    """Draw which sketches the trials of an arm were of, a bar for each eighth of the budget.

    Nothing is drawn of a network, whose tasks have sketches of their own, nor where there is one
    sketch only.
    """
    runs = case.runs_of(strategy)
    tasks = {run.tasks for run in runs}
    if len(tasks) != 1 or len(runs[0].tasks) != 1 or len(runs[0].tasks[0].sketches) < 2:
        return
    parts = {place: f"sketch {place}" for place in range(len(runs[0].tasks[0].sketches))}
    if any(trial.sketch < 0 for run in runs for trial in run.trials):
        parts[-1] = "none of them"
    yield Lines((strategy,))
    yield Bars(Axis("trials by sketch"), tuple(parts.values()), tuple(_shares(runs, [*parts])))


def _shares(runs: Sequence[Run], sketches: Sequence[int]) -> Iterator[Stack]:
    longest = max(len(run.trials) for run in runs)
    ends = sorted({round(longest * place / 8) for place in range(9)})
    for start, end in pairwise(ends):
        counts = Counter(trial.sketch for run in runs for trial in run.trials[start:end])
        lengths = tuple(float(counts[sketch]) for sketch in sketches)
        yield Stack(f"{start + 1} to {end}", lengths)


def failures(case: CaseResult) -> Table:
    """Tabulate failed trials by arm, status and message, the most frequent first."""
    counts = Counter(
        (run.strategy, trial.status, trial.error)
        for run in case.runs
        for trial in run.trials
        if trial.status != "ok"
    )
    rows = (
        (Text(strategy), Text(status), Count(count), Text(error))
        for (strategy, status, error), count in counts.most_common()
    )
    return Table.of(_FAILURES, rows)


def finals(case: CaseResult) -> Table:
    """Tabulate the slices of the final measurement, run by run."""
    rows: Iterator[tuple[Cell, ...]] = (
        (
            Text(run.strategy),
            Count(run.seed),
            Count(len(run.final.latencies_s)),
            *(
                Number.of(1e3 * float(latency_s))
                for latency_s in np.quantile(run.final.latencies_s, (0.0, 0.25, 0.5, 0.75, 1.0))
            ),
        )
        for strategy in case.strategies
        for run in case.runs_of(strategy)
        if run.final is not None and run.final.latencies_s
    )
    return Table.of(_FINALS, rows)


def pictures(case: CaseResult, ways: Ways) -> tuple[Block, ...]:
    """What a case's part of a report has besides sentences and curves."""
    shares = (block for arm in case.strategies for block in sketch_shares(case, arm))
    return (way(case, ways), phases(case), *shares, failures(case), finals(case))
