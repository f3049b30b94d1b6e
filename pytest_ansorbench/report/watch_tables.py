"""How a session stands, and what workers do, as reports: what is over, what runs, what waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.bench.watching import ArmOverview, CaseOverview, Overview
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


def overview_report(overview: Overview) -> Report:
    """Report on a session that another process runs.

    Args:
        overview: How it stands.

    Returns:
        What is over and how long the rest may take; a table of the cases that have begun, with the
        arms of the newest repeat of each; those that wait; the machines.
    """
    lines = (_summary(overview), *_waiting(overview), *_machines(overview))
    groups = tuple(Group(tuple(_rows(case))) for case in overview.cases)
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


def _summary(overview: Overview) -> Sentence:
    over = sum(case.is_over for case in overview.cases)
    known = len(overview.cases) + len(overview.waiting)
    begun: Sentence = ("begun ", Text(overview.created), ": ")
    done: Sentence = (*begun, Part(over, known), " cases are over")
    if overview.is_over:
        return (*done, "; the session has ended")
    if math.isinf(overview.left_s):
        return (*done, "; how long the rest takes is not known yet")
    return (*done, "; about ", Seconds(overview.left_s), " s of search are left")


def _waiting(overview: Overview) -> Iterator[Sentence]:
    if overview.waiting:
        names = listed(Text(case) for case in overview.waiting)
        yield (Counted(len(overview.waiting), "case"), " to come: ", *names)


def _machines(overview: Overview) -> Iterator[Sentence]:
    for fingerprint, machine in overview.machines.items():
        cpu = Setting(machine.get("cpu"))
        yield ("measured on ", cpu, " (", Text(fingerprint), ")")


def _rows(case: CaseOverview) -> Iterator[tuple[Cell, ...]]:
    settled = sum(not gate.open for gate in case.gates)
    outcome = worst(case.gates)
    about: tuple[Cell, ...] = (
        Text(case.label),
        Part(case.done, case.repeats),
        Part(settled, len(case.gates)) if case.gates else Gap.IRRELEVANT,
        Gap.IRRELEVANT if outcome is None else GateMark(outcome),
    )
    left: Cell = Gap.UNKNOWN if math.isinf(case.left_s) else Seconds(case.left_s)
    for arm in case.arms:
        yield (*about, *_arm(arm), left)
    if not case.arms:
        yield (*about, *[Gap.UNKNOWN] * 4, left)


def _arm(arm: ArmOverview) -> tuple[Cell, ...]:
    return (
        Text(arm.strategy),
        Part(arm.trials, arm.budget_trials),
        Gap.UNKNOWN if arm.best_gflops is None else Throughput(arm.best_gflops),
        Seconds(arm.search_s),
    )
