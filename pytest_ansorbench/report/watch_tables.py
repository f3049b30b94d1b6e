"""How a session stands, and what workers do, as reports: what is over, what runs, what waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.bench.watching import WatchedCase, WatchedSession
from pytest_ansorbench.cluster.workers import WorkerActivity
from pytest_ansorbench.records import worst
from pytest_ansorbench.report.cells import (
    Cell,
    Count,
    Gap,
    Part,
    Seconds,
    Text,
    mark,
    percentage,
    throughput,
)
from pytest_ansorbench.report.sections import Column, Group, Lines, Report, Section, Table
from pytest_ansorbench.report.wording import counted, setting_text, time_text

_COLUMNS: Final = (
    Column("case", "case", kind="words"),
    Column("repeats", "repeats"),
    Column("gates", "gates settled", spare=1),
    Column("verdict", "verdict", kind="words"),
    Column("strategy", "strategy", kind="words"),
    Column("spent", "budget spent"),
    Column("trials", "trials"),
    Column("best", "GFLOP/s", "GFLOP/s"),
    Column("search_time", "search time", "s", spare=2),
    Column("left", "left", "s", spare=3),
)


def overview_report(session: WatchedSession) -> Report:
    """Report on a session that another process runs.

    What is over and how long the rest may take; a table of the cases that have begun, with the arms
    of the newest repeat of each; those that wait; the machines.
    """
    lines = (_summary(session), *_waiting(session), *_machines(session))
    groups = tuple(Group(tuple(_rows(case))) for case in session.cases)
    return Report.of(Section("session", (Lines(lines), Table(_COLUMNS, groups))))


_WORKER_COLUMNS: Final = (
    Column("worker", "worker", kind="words"),
    Column("session", "session", kind="words"),
    Column("case", "case", kind="words"),
    Column("seed", "seed"),
)


def workers_report(workers: Sequence[WorkerActivity]) -> Report:
    """Report on the workers of a cluster that take blocks, and what each is at or has waiting."""
    every = {one.name for one in workers}
    busy = {one.name for one in workers if one.session}
    line = f"{counted(len(every), 'worker')}, {len(busy)}/{len(every)} at work"
    if len(workers) > len(every):
        line += "; of several blocks a worker is at one, the others wait"
    rows = (
        (
            Text(one.name),
            Text(one.session) if one.session else Gap.IRRELEVANT,
            Text(one.case) if one.session else Gap.IRRELEVANT,
            Gap.IRRELEVANT if one.seed is None else Count(one.seed),
        )
        for one in workers
    )
    return Report.of(Section("workers", (Lines((line,)), Table.of(_WORKER_COLUMNS, rows))))


def _summary(session: WatchedSession) -> str:
    over = sum(case.is_over for case in session.cases)
    known = len(session.cases) + len(session.waiting)
    done = f"begun {session.created}: {over}/{known} cases are over"
    if session.is_over:
        return f"{done}; the session has ended"
    if math.isinf(session.left_s):
        return f"{done}; how long the rest takes is not known yet"
    return f"{done}; about {time_text(session.left_s)} s of search are left"


def _waiting(session: WatchedSession) -> Iterator[str]:
    if session.waiting:
        yield f"{counted(len(session.waiting), 'case')} to come: {', '.join(session.waiting)}"


def _machines(session: WatchedSession) -> Iterator[str]:
    for fingerprint, machine in session.machines.items():
        yield f"measured on {setting_text(machine.get('cpu'))} ({fingerprint})"


def _rows(case: WatchedCase) -> Iterator[tuple[Cell, ...]]:
    settled = sum(not gate.open for gate in case.gates)
    about: tuple[Cell, ...] = (
        Text(case.label),
        Part(case.done, case.repeats),
        Part(settled, len(case.gates)) if case.gates else Gap.IRRELEVANT,
        mark(worst(case.gates)),
    )
    left: Cell = Gap.UNKNOWN if math.isinf(case.left_s) else Seconds(case.left_s)
    for run in case.runs:
        yield (*about, *_run(run), left)
    if not case.runs:
        yield (*about, *[Gap.UNKNOWN] * 5, left)


def _run(run: RunProgress) -> tuple[Cell, ...]:
    return (
        Text(run.strategy),
        percentage(run.spent),
        Count(run.trials),
        throughput(run.best_gflops),
        Seconds(run.search_s),
    )
