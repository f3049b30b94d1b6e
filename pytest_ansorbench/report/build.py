"""Whole reports: the sections that a command or a session shows, in order."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import CaseResult, MachineNoise, SuiteVerdict
from pytest_ansorbench.report.changes import changes_notes, changes_table
from pytest_ansorbench.report.columns import DEFAULT_COLUMNS
from pytest_ansorbench.report.conditions import (
    caches_lines,
    machine_warnings,
    progress_lines,
    recorded_lines,
)
from pytest_ansorbench.report.controls import control_lines
from pytest_ansorbench.report.details import case_details
from pytest_ansorbench.report.legend import legend
from pytest_ansorbench.report.noise import (
    noise_changes,
    noise_details,
    noise_lines,
    noise_warnings,
)
from pytest_ansorbench.report.repeats import repeats_lines
from pytest_ansorbench.report.sections import Lines, Report, Section
from pytest_ansorbench.report.sorting import DEFAULT_SORT
from pytest_ansorbench.report.suites import suite_lines
from pytest_ansorbench.report.table import case_table
from pytest_ansorbench.report.tasks import tasks_sums, tasks_table
from pytest_ansorbench.search import TaskDescription
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.criteria import Criteria


def result_report(
    cases: Sequence[CaseResult],
    criteria: Criteria,
    columns: Sequence[str] = DEFAULT_COLUMNS,
    sort: str = DEFAULT_SORT,
    *,
    suites: Sequence[SuiteVerdict] = (),
    noise: Sequence[MachineNoise] = (),
    explained: bool = False,
    detailed: bool = False,
) -> Report:
    """Report on a result.

    Args:
        cases: Its cases, judged.
        criteria: How they were judged.
        columns: Keys of the table's columns, as `parse_columns` returns them.
        sort: Key to sort the table by, as `parse_sort` returns it.
        suites: The verdicts over all of them.
        noise: How steady its machines were.
        explained: Whether to include a legend.
        detailed: Whether to include the details of each case and of the noise.

    Returns:
        The table; then the gates of the suite, what repeats were spent on, the legend, which
        progress counts, how caches were found, the controls, the noise and warnings about
        machines; then the details.

    Raises:
        ColumnError: There is no such sort key.
    """
    words = Lines(())
    if explained:
        words = legend(columns, criteria=criteria, repeats=_repeats(cases), cases=len(cases))
    notes = (
        suite_lines(suites),
        repeats_lines(cases, suites),
        words,
        progress_lines(cases, criteria) if explained else Lines(()),
        caches_lines(cases),
        control_lines(cases, criteria),
        noise_details(noise) if detailed else noise_lines(noise),
        recorded_lines(cases),
        machine_warnings(cases),
        noise_warnings(noise),
    )
    details = [case_details(case, criteria) for case in cases] if detailed else []
    return Report.of(case_table(cases, columns, sort, suites), Section("notes", notes), *details)


def changes_report(
    changes: Sequence[CaseChanges],
    any_machine: str,
    *,
    noise_before: Sequence[MachineNoise] = (),
    noise_after: Sequence[MachineNoise] = (),
) -> Report:
    """Report on what changed since an earlier result: the table, then the notes.

    Args:
        changes: Of each case.
        any_machine: The option that compares figures of other machines all the same.
        noise_before: How steady the earlier result's machines were.
        noise_after: How steady the later one's were.
    """
    notes = (changes_notes(changes, any_machine), noise_changes(noise_before, noise_after))
    return Report.of(Section("changes", (changes_table(changes),)), Section("notes", notes))


def failure_report(result: CaseResult, changes: CaseChanges | None) -> Report:
    """Report on a test that fails: the case, and what changed in it, as far as that is known."""
    sections = [case_table([result])]
    if changes is not None and changes.changes:
        sections.append(Section("changes", (changes_table([changes]),)))
    return Report.of(*sections)


def tasks_report(tasks: Sequence[TaskDescription]) -> Report:
    """Report on the tasks of a case, at least one."""
    return Report.of(tasks_table(tasks), tasks_sums(tasks))


def _repeats(cases: Sequence[CaseResult]) -> int:
    """Seeds of each arm: of the case that has fewest."""
    return min((case.repeats for case in cases), default=0)
