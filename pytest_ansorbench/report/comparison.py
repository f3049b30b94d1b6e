"""Two results beside each other: what changed as figures, and the curves of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.cells import Text
from pytest_ansorbench.report.curves import curves_then_and_now
from pytest_ansorbench.report.sections import (
    Axis,
    Forest,
    Interval,
    Report,
    Section,
)
from pytest_ansorbench.stats.changes import CaseChanges, Change

_AXES: Final = {
    "search_ratio": Axis("search ratio S, now over before"),
    "throughput_ratio": Axis("throughput ratio, now over before"),
    "throughput": Axis("throughput, now over before; above 1 kernels are faster now"),
    "search_time": Axis("search time, now over before; below 1 searches are faster now"),
}


def comparison_report(
    brief: Report,
    changes: Sequence[CaseChanges],
    before: Sequence[CaseResult],
    after: Sequence[CaseResult],
) -> Report:
    """Report on two results in full: for files, which are read more than once.

    Args:
        brief: What `changes_report` tells of them.
        changes: The changes of each case.
        before: The cases of the earlier result.
        after: Those of the later one.

    Returns:
        The same, with the changes as forest plots and, for each case that both have, the curves
        of its searches then and now.
    """
    then = {case.case: case for case in before}
    return Report.of(
        *brief.sections,
        Section("suite", tuple(change_forests(changes))),
        *(
            curves_then_and_now(then[case.case], case)
            for case in after
            if case.case in then and case.runs and then[case.case].runs
        ),
    )


def change_forests(changes: Sequence[CaseChanges]) -> Iterator[Forest]:
    """Draw the changes of each figure, case by case.

    Args:
        changes: The changes of each case.

    Yields:
        A forest plot for each figure that a comparison shows without being asked.
    """
    of_all = [change for case in changes for change in case.changes]
    for metric, axis in _AXES.items():
        rows = (
            Interval(_named(change), change.ratio)
            for change in of_all
            if change.metric == metric and change.ratio.bound != "undefined"
        )
        yield Forest(axis, tuple(rows))


def _named(change: Change) -> tuple[Text, str, Text]:
    return (Text(change.case), ", ", Text(change.strategy))
