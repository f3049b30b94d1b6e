"""The table of cases: a row for each strategy of a case, then for each over several cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, get_args

from pytest_ansorbench.records import CaseResult, Estimate, SuiteVerdict
from pytest_ansorbench.report.cells import PER_SECOND, Cell, Seconds, Text, TimeToTarget, TimeUnit
from pytest_ansorbench.report.columns import (
    COLUMNS,
    ArmRow,
    baseline_rows,
    case_rows,
    one_of,
    usual_columns,
)
from pytest_ansorbench.report.sections import Group, Lines, Section, Table
from pytest_ansorbench.stats.suite import ALL_CASES, RATIOS, group_of

Grouping = Literal["case", "family", "network", "strategy"]
GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)

WantedUnit = Literal["auto", "s", "ms", "us"]
TIME_UNITS: Final[tuple[WantedUnit, ...]] = get_args(WantedUnit)

DEFAULT_SORT: Final = "order"

_Rows = tuple[ArmRow, ...]  # of a case in one test; another test may have the same case


@dataclass(frozen=True, slots=True)
class Layout:
    """How the table of cases is laid out."""

    # Keys of the columns, as `parse_columns` returns them; None for the usual ones.
    columns: tuple[str, ...] | None = None
    sort: str = DEFAULT_SORT  # a key of `SORT_KEYS`
    # Which rows stand together: those of a case; those of an operator or a network, each with its
    # sums; those of a network, after those of all operators; or those of a strategy, with its sums.
    group_by: Grouping = "case"
    # What times are told in; `auto` for the largest in which the longest time is at least 1.
    time_unit: WantedUnit = "auto"

    def columns_for(self, cases: Sequence[CaseResult]) -> tuple[str, ...]:
        """The columns that were asked for, or else those that suit the cases."""
        return usual_columns(cases) if self.columns is None else self.columns


def parse_grouping(text: str) -> Grouping:
    """Parse what rows are grouped by."""
    return one_of(GROUPINGS, text, "grouping")


def parse_time_unit(text: str) -> WantedUnit:
    """Parse a unit of time."""
    return one_of(TIME_UNITS, text, "time unit")


def parse_sort(text: str) -> str:
    """Parse a sort key."""
    return one_of([*SORT_KEYS], text, "sort key")


def case_table(
    cases: Sequence[CaseResult],
    layout: Layout = Layout(),
    suites: Sequence[SuiteVerdict] = (),
) -> Section:
    """Tabulate a session; the reference's row is the first of each case.

    From two cases on, or with a verdict over them, rows over all cases and over each group of them
    sum it up: at the end, or below the group.
    """
    if not cases:
        return Section("cases", (Lines(("no results: no case was run",)),))
    keys = layout.columns_for(cases)
    in_order = sort_cases(cases, layout.sort)
    if layout.group_by == "network":
        in_order = tuple(sorted(in_order, key=_is_network))
    # A throughput is all that a kernel has that no search made.
    of_cases = [
        (*case_rows(case), *(baseline_rows(case) if "throughput" in keys else ()))
        for case in in_order
    ]
    shown = [suite for suite in suites if _worth_a_row(suite, keys)]
    match layout.group_by:
        case "case":
            groups = _by_case(of_cases, shown, keys)
        case "family":
            families = {case.case: group_of(case.case) for case in in_order}
            groups = _by_group(of_cases, shown, keys, families)
        case "network":
            networks = {case.case: group_of(case.case) for case in in_order if _is_network(case)}
            groups = _by_group(of_cases, shown, keys, networks)
        case "strategy":
            groups = _by_strategy(of_cases, shown, keys)
    columns = tuple(COLUMNS[key].column for key in keys)
    table = Table(columns, tuple(filter(lambda group: group.rows, groups)))
    return Section("cases", (in_unit(table, layout.time_unit),))


def _by_case(
    of_cases: Sequence[_Rows], suites: Sequence[SuiteVerdict], columns: Sequence[str]
) -> Iterator[Group]:
    for rows in of_cases:
        yield _body(rows, columns)
    yield _summary([suite for suite in suites if not suite.group], columns)
    yield _summary([suite for suite in suites if suite.group], columns)


def _by_group(
    of_cases: Sequence[_Rows],
    suites: Sequence[SuiteVerdict],
    columns: Sequence[str],
    group_of_case: Mapping[str, str],
) -> Iterator[Group]:
    """The cases of each group, with its sums; those that are in none stand together as well."""
    for group in dict.fromkeys(group_of_case.get(rows[0].case, "") for rows in of_cases):
        for rows in of_cases:
            if group_of_case.get(rows[0].case, "") == group:
                yield _body(rows, columns)
        yield _summary([suite for suite in suites if suite.group == group != ""], columns)
    yield _summary([suite for suite in suites if not suite.group], columns)


def _is_network(case: CaseResult) -> bool:
    """Whether a case has several tasks; told by its runs."""
    return any(len(run.tasks) > 1 for run in case.runs)


def _by_strategy(
    of_cases: Sequence[_Rows], suites: Sequence[SuiteVerdict], columns: Sequence[str]
) -> Iterator[Group]:
    of_all = [row for rows in of_cases for row in rows]
    for strategy in dict.fromkeys(row.strategy for row in of_all):
        yield _body([row for row in of_all if row.strategy == strategy], columns)
        yield _summary([suite for suite in suites if suite.challenger == strategy], columns)


def _body(rows: Sequence[ArmRow], columns: Sequence[str]) -> Group:
    return Group(tuple(tuple(COLUMNS[key].of(row) for key in columns) for row in rows))


def _summary(suites: Sequence[SuiteVerdict], columns: Sequence[str]) -> Group:
    return Group(tuple(_suite_cells(suite, columns) for suite in suites), "summary")


def _worth_a_row(suite: SuiteVerdict, columns: Sequence[str]) -> bool:
    """A suite of one case repeats it, and without a name for the row nobody could read it."""
    named = "case" in columns or "strategy" in columns
    told = len(suite.cases) > 1 and any(key in columns for key in RATIOS)
    return named and (told or (bool(suite.gates) and "verdict" in columns))


def _suite_cells(suite: SuiteVerdict, columns: Sequence[str]) -> tuple[Cell, ...]:
    """A row over several cases, named by whichever of case and strategy is shown."""
    label = " of ".join(filter(None, (ALL_CASES, suite.group)))
    both = "case" in columns and "strategy" in columns
    alone = ", ".join((label, suite.challenger))
    words = {
        "case": Text(label if both else alone),
        "strategy": Text(suite.challenger if both else alone),
    }
    return tuple(words.get(key, COLUMNS[key].suite(suite)) for key in columns)


def sort_cases(cases: Sequence[CaseResult], key: str) -> tuple[CaseResult, ...]:
    """Sort cases, ascending, by the figures of their first challenger.

    A bound counts as its figure; those without one come last; equal ones keep their order, and
    `order` is that of execution.
    """
    rank = SORT_KEYS[parse_sort(key)]
    return tuple(sorted(cases, key=rank))


def _by_ratio(key: str) -> Callable[[CaseResult], float]:
    def rank(case: CaseResult) -> float:
        if not case.verdicts:
            return math.inf
        estimate: Estimate = getattr(case.verdicts[0].comparison, key)
        return math.inf if estimate.bound == "undefined" else estimate.value

    return rank


def _by_search_time(case: CaseResult) -> float:
    rows = case_rows(case)
    arm = rows[min(1, len(rows) - 1)].arm if rows else None
    return arm.search_s if arm else math.inf


def _by_time_to_target(case: CaseResult) -> float:
    return case.verdicts[0].comparison.challenger.time_to_target_s if case.verdicts else math.inf


_OUTCOMES: Final = ("broken", "undecided", "holds", None)


def _by_verdict(case: CaseResult) -> int:
    """The worst first, over all challengers: it is what one looks for."""
    return min((_OUTCOMES.index(v.outcome) for v in case.verdicts), default=len(_OUTCOMES))


SORT_KEYS: Final[Mapping[str, Callable[[CaseResult], float | str]]] = MappingProxyType(
    {
        DEFAULT_SORT: lambda case: 0,
        "case": lambda case: case.case,
        "search_time": _by_search_time,
        "time_to_target": _by_time_to_target,
        **{key: _by_ratio(key) for key in RATIOS},
        "verdict": _by_verdict,
    }
)


def in_unit(table: Table, wanted: WantedUnit) -> Table:
    """A table, its times in seconds, with all its times in one unit."""
    unit = _suitable(table) if wanted == "auto" else wanted
    columns = (
        replace(column, unit=unit) if column.unit == "s" else column for column in table.columns
    )
    groups = (
        Group(tuple(tuple(_in_unit(cell, unit) for cell in row) for row in group.rows), group.role)
        for group in table.groups
    )
    return Table(tuple(columns), tuple(groups), table.depth)


def _in_unit(cell: Cell, unit: TimeUnit) -> Cell:
    return replace(cell, unit=unit) if isinstance(cell, Seconds | TimeToTarget) else cell


def _suitable(table: Table) -> TimeUnit:
    times_s = (
        cell.seconds
        for row in table.rows
        for cell in row
        if isinstance(cell, Seconds | TimeToTarget) and math.isfinite(cell.seconds)
    )
    longest_s = max(times_s, default=1.0)
    suitable = (unit for unit, per_second in PER_SECOND.items() if longest_s * per_second >= 1.0)
    return next(suitable, "s")
