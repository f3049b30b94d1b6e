"""Changes since an earlier result: a table of figures, and sentences on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_ansorbench.report.cells import Cell, Figure, Gap, GateMark, Ratio, Text
from pytest_ansorbench.report.gates import change_sentence
from pytest_ansorbench.report.sections import Column, Group, Lines, Sentence, Table
from pytest_ansorbench.stats.changes import CaseChanges, Change

_COLUMNS: Final = (
    Column("case", "case", kind="words"),
    Column("strategy", "strategy", kind="words"),
    Column("figure", "figure", kind="words"),
    Column("before", "before"),
    Column("now", "now"),
    Column("ratio", "now / before"),
    Column("verdict", "verdict", kind="words"),
)


def changes_table(changes: Sequence[CaseChanges]) -> Table | Lines:
    """Tabulate changes.

    Args:
        changes: The changes of each case.

    Returns:
        A table with a group for each case; a sentence if nothing could be compared.
    """
    groups = tuple(
        Group(tuple(_row(change) for change in case.changes)) for case in changes if case.changes
    )
    if not groups:
        return Lines((("nothing could be compared",),))
    return Table(_COLUMNS, groups)


def changes_notes(changes: Sequence[CaseChanges], any_machine: str) -> Lines:
    """Name gates that do not hold, and cases that were not compared.

    Args:
        changes: Of each case.
        any_machine: The option that compares figures of other machines all the same.
    """
    sentences: list[Sentence] = [
        (
            Text(change.case),
            ", ",
            Text(change.strategy),
            ": ",
            *change_sentence(change, any_machine),
        )
        for case in changes
        for change in case.changes
        if change.gate is not None and change.gate.outcome != "holds"
    ]
    sentences += [
        (Text(case.case), ": not compared: ", Text(case.incomparable))
        for case in changes
        if case.incomparable
    ]
    return Lines(tuple(sentences))


def _row(change: Change) -> tuple[Cell, ...]:
    return (
        Text(change.case),
        Text(change.strategy),
        Text(change.metric),
        _figure(change.metric, change.before),
        _figure(change.metric, change.after),
        Ratio(change.ratio),
        GateMark(change.gate.outcome) if change.gate is not None else Gap.IRRELEVANT,
    )


def _figure(metric: str, value: float | None) -> Cell:
    return Gap.UNKNOWN if value is None else Figure(metric, value)
