"""Changes since an earlier result: a table, sentences on the rest, and figures of both results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.cells import Cell, Number, Ratio, Text, known, mark, plain_ratio
from pytest_ansorbench.report.curves import curves_then_and_now
from pytest_ansorbench.report.gates import change_sentence
from pytest_ansorbench.report.sections import (
    Axis,
    Column,
    Forest,
    Group,
    Interval,
    Lines,
    Report,
    Section,
    Table,
)
from pytest_ansorbench.stats.changes import CaseChanges, Change, same_case
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.figures import FIGURES

_COLUMNS: Final = (
    Column("case", "case", kind="words"),
    Column("strategy", "strategy", kind="words"),
    Column("figure", "figure", kind="words"),
    Column("before", "before"),
    Column("now", "now"),
    Column("ratio", "now / before"),
    Column("verdict", "verdict", kind="words"),
)
_AXES: Final = {
    "search_ratio": Axis("search ratio S, now over before"),
    "throughput_ratio": Axis("throughput ratio, now over before"),
    "throughput": Axis("throughput, now over before; above 1 kernels are faster now"),
    "search_time": Axis("search time, now over before; below 1 searches are faster now"),
}


def changes_table(changes: Sequence[CaseChanges]) -> Table | Lines:
    """Tabulate changes, with a group for each case."""
    groups = tuple(
        Group(tuple(_row(change) for change in case.changes)) for case in changes if case.changes
    )
    if not groups:
        return Lines(("nothing could be compared",))
    return Table(_COLUMNS, groups)


def changes_notes(changes: Sequence[CaseChanges], any_machine: str) -> Lines:
    """Name gates that do not hold, and cases that were not compared.

    `any_machine` names the option that allows comparisons between machines.
    """
    gates = (
        change_sentence(change, any_machine, f"{change.case}, {change.strategy}: ")
        for case in changes
        for change in case.changes
        if change.gate is not None and change.gate.outcome != "holds"
    )
    left_out = (
        f"{case.case}: not compared: {case.incomparable}" for case in changes if case.incomparable
    )
    return Lines((*gates, *left_out))


def _row(change: Change) -> tuple[Cell, ...]:
    def figure(value: float) -> Cell:
        is_ratio = FIGURES[change.metric].subject == "challenger"
        return plain_ratio(value) if is_ratio and math.isinf(value) else Number.of(value)

    return (
        Text(change.case),
        Text(change.strategy),
        Text(change.metric),
        known(change.before, figure),
        known(change.after, figure),
        Ratio(change.ratio),
        mark(change.gate.outcome if change.gate else None),
    )


def comparison_report(
    brief: Report,
    changes: Sequence[CaseChanges],
    before: Sequence[CaseResult],
    after: Sequence[CaseResult],
    criteria: Criteria,
) -> Report:
    """Report on two results in full: for files, which are read more than once.

    What `changes_report` tells of them in brief; then the changes as forest plots and, for each
    case that both have, the curves of its searches then and now.
    """
    return Report.of(
        *brief.sections,
        Section("suite", tuple(change_forests(changes))),
        *(
            curves_then_and_now(then, case, criteria)
            for case in after
            if (then := same_case(before, case)) is not None and case.runs and then.runs
        ),
    )


def change_forests(changes: Sequence[CaseChanges]) -> Iterator[Forest]:
    """Draw each figure that a comparison shows without being asked, case by case."""
    of_all = [change for case in changes for change in case.changes]
    for metric, axis in _AXES.items():
        rows = (
            Interval(f"{change.case}, {change.strategy}", change.ratio)
            for change in of_all
            if change.metric == metric
        )
        yield Forest.of(axis, rows)
