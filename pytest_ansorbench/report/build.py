"""Whole reports: the sections that a command or a session shows, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from pytest_ansorbench.records import CaseResult, MachineNoise
from pytest_ansorbench.report.changes import changes_notes, changes_table
from pytest_ansorbench.report.conditions import (
    caches_lines,
    checked_lines,
    landscape_lines,
    machine_warnings,
    progress_lines,
    recorded_lines,
    space_lines,
)
from pytest_ansorbench.report.controls import control_lines
from pytest_ansorbench.report.curves import curves
from pytest_ansorbench.report.decisions import stage_lines
from pytest_ansorbench.report.details import case_details, schedules
from pytest_ansorbench.report.failures import unjudged_lines, winner_warnings
from pytest_ansorbench.report.gates import repeats_lines, suite_lines
from pytest_ansorbench.report.legend import legend, legend_in_brief
from pytest_ansorbench.report.noise_notes import (
    noise_changes,
    noise_details,
    noise_lines,
    noise_warnings,
)
from pytest_ansorbench.report.peers import peer_lines
from pytest_ansorbench.report.pictures import forests, pictures
from pytest_ansorbench.report.sections import GateSentence, Lines, Report, Section
from pytest_ansorbench.report.table import Layout, case_table, sort_cases
from pytest_ansorbench.report.tasks import tasks_sums, tasks_table
from pytest_ansorbench.report.verdicts import verdict_lines
from pytest_ansorbench.report.yardsticks import peak_lines
from pytest_ansorbench.search import TaskDescription
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import case_ways
from pytest_ansorbench.stats.judging import JudgedResult

if TYPE_CHECKING:
    from pytest_ansorbench.winners import Script

Explanation = Literal["not", "briefly", "fully"]
"""How much of what the columns mean."""


def result_report(
    judged: JudgedResult,
    layout: Layout = Layout(),  # noqa: B008 -- frozen
    *,
    explained: Explanation = "not",
    detailed: bool = False,
) -> Report:
    """Report on a result, its cases judged, with the verdicts over all of them.

    The verdicts; the table; then the gates of the suite if one does not hold, what repeats were
    spent on, the legend, which progress counts, how caches were found, the controls, the noise and
    warnings about machines; with details all gates, of the suite and of the cases.
    """
    cases, suites, criteria = judged.cases, judged.suites, judged.criteria
    details = [case_details(case, case_ways(case, criteria)) for case in cases] if detailed else []
    held = all(suite.outcome in (None, "holds") for suite in suites)
    gates = Lines(()) if held and not detailed else suite_lines(suites)
    of_noise = noise_details(judged.noise) if detailed else noise_lines(judged.noise)
    return Report.of(
        Section("verdicts", _opening(judged)),
        case_table(cases, layout, suites),
        Section(
            "notes",
            (
                gates,
                repeats_lines(cases, suites),
                *_explanation(judged, layout, explained),
                *_conditions(judged, of_noise),
            ),
        ),
        *details,
    )


def full_report(
    judged: JudgedResult,
    layout: Layout = Layout(),  # noqa: B008 -- frozen
    *,
    scripts: Sequence[Script] = (),
    rests_on: Section | None = None,
) -> Report:
    """Report on all that is known of a result: for files, which are read more than once.

    What `result_report` tells with its legend, and ratios as forest plots; for each case its
    details, curves, phases, sketches, failures and the schedules written out; then what it rests
    on.
    """
    cases, suites = judged.cases, judged.suites
    of_cases = (
        section
        for case in sort_cases(cases, layout.sort)
        for section in _of_case(case, judged.criteria, scripts)
    )
    return Report.of(
        Section("verdicts", (*_opening(judged), suite_lines(suites))),
        Section("suite", tuple(forests(cases, suites))),
        case_table(cases, layout, suites),
        Section(
            "notes",
            (
                repeats_lines(cases, suites),
                *_explanation(judged, layout, "fully"),
                *_conditions(judged, noise_details(judged.noise)),
            ),
        ),
        *of_cases,
        *((rests_on,) if rests_on is not None else ()),
    )


def _opening(judged: JudgedResult) -> tuple[Lines, ...]:
    verdicts = verdict_lines(judged.cases, judged.suites, judged.criteria.goal)
    missed = [GateSentence(f"suite: no run of {', '.join(judged.missed)}: ", "broken")]
    lost = Lines.of(missed if judged.missed else [])
    return (lost, unjudged_lines(judged.cases), verdicts, peer_lines(judged.cases))


def _of_case(case: CaseResult, criteria: Criteria, scripts: Sequence[Script]) -> Iterator[Section]:
    """All that a full report tells of one case."""
    ways = case_ways(case, criteria)
    yield case_details(case, ways)
    if case.runs:
        yield curves(case, criteria)
    yield Section("pictures", pictures(case, ways), subject=case.case)
    yield schedules(case.case, scripts)


def changes_report(
    changes: Sequence[CaseChanges],
    any_machine: str,
    *,
    cases: Sequence[CaseResult] = (),
    noise_before: Sequence[MachineNoise] = (),
    noise_after: Sequence[MachineNoise] = (),
) -> Report:
    """Report on what changed since an earlier result: the table, then the notes.

    Of the later result's `cases` it tells first what cannot be judged. `any_machine` names the
    option that allows comparisons between machines.
    """
    notes = (changes_notes(changes, any_machine), noise_changes(noise_before, noise_after))
    blocks = (unjudged_lines(cases), changes_table(changes))
    return Report.of(Section("changes", blocks), Section("notes", notes))


def failure_report(result: CaseResult, changes: CaseChanges | None) -> Report:
    """Report on a test that fails: the case, and what changed in it, as far as that is known."""
    sections = [case_table([result])]
    if changes is not None and changes.changes:
        sections.append(Section("changes", (changes_table([changes]),)))
    return Report.of(*sections)


def tasks_report(tasks: Sequence[TaskDescription]) -> Report:
    """Report on the tasks of a case, at least one."""
    return Report.of(tasks_table(tasks), tasks_sums(tasks))


def _explanation(judged: JudgedResult, layout: Layout, explained: Explanation) -> tuple[Lines, ...]:
    """What the columns mean, and which progress counts."""
    cases, criteria = judged.cases, judged.criteria
    columns = layout.columns_for(cases)
    repeats = [case.repeats for case in cases if case.runs]
    match explained:
        case "not":
            return ()
        case "briefly":
            return (legend_in_brief(columns, criteria=criteria, repeats=repeats),)
        case "fully":
            words = legend(columns, criteria=criteria, repeats=repeats, cases=len(cases))
            return words, progress_lines(cases, criteria)


def _conditions(judged: JudgedResult, of_noise: Lines) -> tuple[Lines, ...]:
    """What was searched, how caches were found, what the controls and the machines did."""
    cases = judged.cases
    return (
        space_lines(cases),
        stage_lines(cases),
        caches_lines(cases),
        checked_lines(cases),
        control_lines(cases, judged.criteria),
        peak_lines(cases),
        of_noise,
        landscape_lines(cases),
        recorded_lines(cases),
        winner_warnings(cases),
        machine_warnings(cases, judged.machines),
        noise_warnings(judged.noise),
    )
