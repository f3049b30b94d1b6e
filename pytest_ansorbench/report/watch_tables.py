"""How a session stands, and what workers do, as reports: what is over, what runs, what waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.bench.progress import RunProgress
from pytest_ansorbench.bench.watching import WatchedCase, WatchedSession
from pytest_ansorbench.cluster.overview import WorkerOverview
from pytest_ansorbench.records import worst
from pytest_ansorbench.report.cells import (
    Cell,
    Counted,
    Gap,
    GateMark,
    Part,
    Seconds,
    Setting,
    Text,
    Throughput,
)
from pytest_ansorbench.report.sections import (
    Column,
    Group,
    Lines,
    Report,
    Section,
    Sentence,
    Table,
    listed,
)

_COLUMNS: Final = (
    Column("case", "case", kind="words"),
    Column("repeats", "repeats"),
    Column("gates", "gates settled", spare=1),
    Column("verdict", "verdict", kind="words"),
    Column("strategy", "strategy", kind="words"),
    Column("trials", "trials"),
    Column("best", Throughput.UNIT, Throughput.UNIT),
    Column("search_time", "search time", Seconds.UNIT, spare=2),
    Column("left", "left", Seconds.UNIT, spare=3),
)


def overview_report(session: WatchedSession) -> Report:
    """Report on a session that another process runs.

    Args:
        session: How far it has come.

    Returns:
        What is over and how long the rest may take; a table of the cases that have begun, with the
        arms of the newest repeat of each; those that wait; the machines.
    """
    lines = (_summary(session), *_waiting(session), *_machines(session))
    groups = tuple(Group(tuple(_rows(case))) for case in session.cases)
    table = (Table(_COLUMNS, groups),) if groups else ()
    return Report.of(Section("session", (Lines(lines), *table)))


_WORKER_COLUMNS: Final = (
    Column("worker", "worker", kind="words"),
    Column("session", "session", kind="words"),
    Column("case", "case", kind="words"),
    Column("seed", "seed"),
)


def workers_report(workers: Sequence[WorkerOverview]) -> Report:
    """Report on the workers of a cluster.

    Args:
        workers: Those that take blocks.

    Returns:
        How many there are and are at work; a table of what each is at.
    """
    busy = sum(bool(one.session) for one in workers)
    line: Sentence = (Counted(len(workers), "worker"), ", ", Part(busy, len(workers)), " at work")
    rows = tuple(
        (
            Text(one.name),
            Text(one.session) if one.session else Gap.IRRELEVANT,
            Text(one.case) if one.session else Gap.IRRELEVANT,
            Gap.IRRELEVANT if one.seed is None else Setting(one.seed),
        )
        for one in workers
    )
    table = (Table(_WORKER_COLUMNS, (Group(rows),)),) if rows else ()
    return Report.of(Section("workers", (Lines((line,)), *table)))


def _summary(session: WatchedSession) -> Sentence:
    over = sum(case.is_over for case in session.cases)
    known = len(session.cases) + len(session.waiting)
    begun: Sentence = ("begun ", Text(session.created), ": ")
    done: Sentence = (*begun, Part(over, known), " cases are over")
    if session.is_over:
        return (*done, "; the session has ended")
    if math.isinf(session.left_s):
        return (*done, "; how long the rest takes is not known yet")
    return (*done, "; about ", Seconds(session.left_s), " s of search are left")


def _waiting(session: WatchedSession) -> Iterator[Sentence]:
    if session.waiting:
        names = listed(Text(case) for case in session.waiting)
        yield (Counted(len(session.waiting), "case"), " to come: ", *names)


def _machines(session: WatchedSession) -> Iterator[Sentence]:
    for fingerprint, machine in session.machines.items():
        cpu = Setting(machine.get("cpu"))
        yield ("measured on ", cpu, " (", Text(fingerprint), ")")


def _rows(case: WatchedCase) -> Iterator[tuple[Cell, ...]]:
    settled = sum(not gate.open for gate in case.gates)
    outcome = worst(case.gates)
    about: tuple[Cell, ...] = (
        Text(case.label),
        Part(case.done, case.repeats),
        Part(settled, len(case.gates)) if case.gates else Gap.IRRELEVANT,
        Gap.IRRELEVANT if outcome is None else GateMark(outcome),
    )
    left: Cell = Gap.UNKNOWN if math.isinf(case.left_s) else Seconds(case.left_s)
    for run in case.runs:
        yield (*about, *_run(run), left)
    if not case.runs:
        yield (*about, *[Gap.UNKNOWN] * 4, left)


def _run(run: RunProgress) -> tuple[Cell, ...]:
    return (
        Text(run.strategy),
        Part(run.trials, run.budget_trials),
        Throughput(run.best_gflops) if run.best_gflops else Gap.UNKNOWN,
        Seconds(run.search_s),
    )
