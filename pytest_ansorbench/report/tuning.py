"""What tuning came to: a case before and after, task by task, and what that rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pytest_ansorbench.records import CaseResult, ReferenceKernel, Result, Run
from pytest_ansorbench.report.conditions import machine_warnings
from pytest_ansorbench.report.curves import curves
from pytest_ansorbench.report.peers import named
from pytest_ansorbench.report.provenance import provenance
from pytest_ansorbench.report.sections import Lines, Report, Section
from pytest_ansorbench.report.tasks import network_blocks
from pytest_ansorbench.report.wording import counted, plain_text, ratio_text
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.peers import times_faster


def tuning_report(
    result: Result, command: str, notes: Sequence[str], rewritten: Collection[str]
) -> Report:
    """Report on cases that one strategy has tuned once: outcomes, tasks, curves, circumstances."""
    of_machines = machine_warnings(result.cases, result.machines)
    noted = Section("notes", (Lines(tuple(notes)), of_machines))
    criteria = Criteria.from_settings(result.settings)
    of_cases = (section for case in result.cases for section in _of_case(case, criteria))
    return Report.of(tuned_lines(result, rewritten), noted, *of_cases, provenance(result, command))


def tuned_lines(result: Result, rewritten: Collection[str]) -> Section:
    """Say of each case how fast it was and is.

    Those with ids in `rewritten` were timed untuned, but rewritten, and not as their models say.
    """
    lines = (_sentence(case, case.case in rewritten) for case in result.cases)
    return Section("verdicts", (Lines.of(lines),))


def before_tuning(case: CaseResult) -> ReferenceKernel | None:
    """The case without any schedule, as it was timed; None if it was not."""
    kernels = (kernel for found in case.yardsticks for kernel in found.kernels)
    return next((one for one in kernels if one.implementation == "untuned"), None)


def was_faster(case: CaseResult) -> bool:
    """Whether the case was faster without any schedule."""
    [run] = case.runs
    before_s = getattr(before_tuning(case), "latency_s", None)
    after_s = run.final.latency_s if run.final is not None else None
    return before_s is not None and after_s is not None and before_s < after_s


def _of_case(case: CaseResult, criteria: Criteria) -> Iterator[Section]:
    yield Section("details", network_blocks(case.runs, 0), subject=case.case)
    yield curves(case, criteria)


def _sentence(case: CaseResult, is_rewritten: bool) -> str:
    [run] = case.runs
    trials = counted(len(run.trials), "trial")
    spent = f"{trials} of {run.strategy} in {run.search_s:.0f} s of search"
    # What is left untuned was not measured beside other libraries.
    rest = ", so it is left untuned" if was_faster(case) else _beside(run)
    return f"{case.case}: {_speed(run, before_tuning(case), is_rewritten)}{rest}; {spent}"


def _speed(run: Run, before: ReferenceKernel | None, is_rewritten: bool) -> str:
    final = run.final
    if final is None:
        return "not measured"
    if final.latency_s is None:
        return f"no schedule of it works: {final.error or final.status}"
    told = f"{plain_text(1e3 * final.latency_s)} ms"
    if before is None:
        return told
    if before.latency_s is None:
        return f"{told}; untuned it could not be timed: {before.error}"
    ratio = ratio_text(before.latency_s / final.latency_s, 1)
    untuned = "untuned, rewritten" if is_rewritten else "untuned"
    return f"{told}, {plain_text(1e3 * before.latency_s)} ms {untuned}: {ratio} times as fast"


def _beside(run: Run) -> str:
    """How the result compares with each library that was measured beside it."""
    told = ""
    for peer in run.peers:
        ratio = times_faster(run, peer.implementation)
        if ratio is not None and peer.final.latency_s is not None:
            ms = plain_text(1e3 * peer.final.latency_s)
            told += f"; {ms} ms in {named(peer)}: {ratio_text(ratio)} times as fast"
        elif peer.final.latency_s is None:
            told += f"; {peer.implementation} not measured: {peer.final.error or peer.final.status}"
    return told
