"""How results changed from one to the next: what a team looks at once a week."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_ansorbench.records import Result
from pytest_ansorbench.report.cells import Cell, Count, Gap, SuiteRatio, Text, mark
from pytest_ansorbench.report.columns import COLUMNS, ArmRow, case_rows
from pytest_ansorbench.report.sections import (
    Axis,
    Chart,
    Column,
    Group,
    Lines,
    Report,
    Section,
    Series,
    Table,
)
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.changes import CaseChanges, Change
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.judging import JudgedResult

_SUITE: tuple[Column, ...] = (
    Column("place", "no."),
    Column("result", "result", kind="words"),
    Column("commit", "commit", kind="words"),
    Column("machine", "machine", kind="words", spare=1),
    Column("strategy", "strategy", kind="words"),
    Column("search_ratio", "S"),
    Column("throughput_ratio", "throughput ratio"),
    Column("verdict", "verdict", kind="words"),
    Column("changed", "changed"),
)
_OF_ARM = ("strategy", "search_time", "search_ratio", "throughput", "throughput_ratio")
_CASE: tuple[Column, ...] = (Column("place", "no."), *(COLUMNS[key].column for key in _OF_ARM))
_COMMIT_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Stage:
    """One result of a history."""

    name: str  # what it is stored as, e.g. `0003_main`
    result: Result
    judged: JudgedResult  # the same, judged by today's statistics
    # Of each case, since the stage before; empty for the first.
    changes: tuple[CaseChanges, ...] = ()


def history_report(stages: Sequence[Stage]) -> Report:
    """Report on results in the order in which they were stored, the earliest first.

    All cases together, a row for each result and challenger, and S as a chart; the changes since
    the result before whose interval excludes 1; then each case.
    """
    cases = dict.fromkeys(case.case for stage in stages for case in stage.judged.cases)
    return Report.of(
        Section("suite", (_suites(stages), _suite_chart(stages))),
        Section("changes", (Lines.of(_changes(stages)),)),
        *(_case(name, stages) for name in cases),
    )


def _suites(stages: Sequence[Stage]) -> Table:
    groups = []
    for place, stage in enumerate(stages, 1):
        told: list[tuple[Cell, ...]] = [
            (
                Text(suite.challenger),
                SuiteRatio.of(suite, "search_ratio"),
                SuiteRatio.of(suite, "throughput_ratio"),
                mark(suite.outcome),
            )
            for suite in stage.judged.suites
            if not suite.group
        ]
        result, changed = _of(place, stage), Count(len(_changed(stage)))
        rows = ((*result, *cells, changed) for cells in told or [(Gap.IRRELEVANT,) * 4])
        groups.append(Group(tuple(rows)))
    return Table(_SUITE, tuple(groups))


def _of(place: int, stage: Stage) -> tuple[Cell, ...]:
    """Which result it is, of which commit, on which machine."""
    [*machines] = stage.result.machines.values()
    cpu = machines[0].get("cpu") if len(machines) == 1 else None
    commit = stage.result.commit.get("id")
    return (
        Count(place),
        Text(stage.name),
        Text(commit[:_COMMIT_DIGITS]) if isinstance(commit, str) else Gap.UNKNOWN,
        Text(cpu) if isinstance(cpu, str) else Gap.UNKNOWN,
    )


def _suite_chart(stages: Sequence[Stage]) -> Chart:
    points: dict[str, list[tuple[int, float]]] = {}
    for place, stage in enumerate(stages, 1):
        for suite in stage.judged.suites:
            ratio = suite.figure("search_ratio").estimate
            if not suite.group and ratio.bound == "value":
                points.setdefault(suite.challenger, []).append((place, ratio.value))
    return Chart(Axis("result no."), Axis("S of all cases"), _series(points))


def _case(name: str, stages: Sequence[Stage]) -> Section:
    """One case over all results that have it."""
    groups: list[Group] = []
    points: dict[str, list[tuple[int, float]]] = {}
    for place, stage in enumerate(stages, 1):
        for case in stage.judged.cases:
            if case.case != name:
                continue
            rows = case_rows(case)
            groups.append(Group(tuple(_cells(place, row) for row in rows)))
            for row in rows:
                if row.arm is not None and row.arm.throughput_gflops:
                    found = (place, row.arm.throughput_gflops)
                    points.setdefault(row.strategy, []).append(found)
    chart = Chart(Axis("result no."), Axis("final throughput", "GFLOP/s"), _series(points))
    return Section("history", (Table(_CASE, tuple(groups)), chart), subject=name)


def _cells(place: int, row: ArmRow) -> tuple[Cell, ...]:
    return (Count(place), *(COLUMNS[key].of(row) for key in _OF_ARM))


def _series(points: dict[str, list[tuple[int, float]]]) -> tuple[Series, ...]:
    return tuple(
        Series(label, tuple(x for x, _ in some), tuple(y for _, y in some))
        for label, some in points.items()
    )


def _compared(stage: Stage) -> list[Change]:
    """What could be compared with the stage before."""
    return [
        change
        for case in stage.changes
        for change in case.changes
        if change.ratio.bound != "undefined" and not change.ratio.endless
    ]


def _changed(stage: Stage) -> list[Change]:
    """What changed since the stage before, as far as the interval of its ratio excludes 1."""
    return [one for one in _compared(stage) if not one.ratio.low <= 1.0 <= one.ratio.high]


def _changes(stages: Sequence[Stage]) -> Iterator[str]:
    for stage in stages:
        changed, compared = _changed(stage), len(_compared(stage))
        if changed:
            by_chance = compared * (1.0 - stage.judged.criteria.confidence)
            yield (
                f"{stage.name}: intervals exclude 1 for {len(changed)} of {compared} ratios to the "
                f"result before; chance alone makes about {by_chance:.2g}"
            )
        for change in changed:
            yield (
                f"{stage.name}: {FIGURES[change.metric].name} of {change.strategy} on "
                f"{change.case} is {estimate_text(change.ratio)} times what it was"
            )
        for case in stage.changes:
            if case.incomparable:
                yield (
                    f"{stage.name}: {case.case} cannot be compared with the result before: "
                    f"{case.incomparable}"
                )
