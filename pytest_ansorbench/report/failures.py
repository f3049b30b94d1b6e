"""What a report says of arms whose kernels or winners have failed."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import CaseResult
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.wording import counted
from pytest_ansorbench.stats.failures import ArmFailures, arm_failures


def unjudged_lines(cases: Sequence[CaseResult]) -> Lines:
    """Each arm that has no valid kernel, or no winner that is right."""
    found = ((case, one) for case in cases for one in arm_failures(case) if one.is_complete)
    sentences = tuple(f"{case.case}: {failures_sentence(one)}" for case, one in found)
    return Lines(sentences, tone="warning")


def winner_warnings(cases: Sequence[CaseResult]) -> Lines:
    """Each arm that has lost some of its winners."""
    found = ((case, one) for case in cases for one in arm_failures(case) if not one.is_complete)
    sentences = tuple(f"warning: {case.case}: {failures_sentence(one)}" for case, one in found)
    return Lines(sentences, tone="warning")


def failures_sentence(failures: ArmFailures) -> str:
    """How many trials or winners of an arm failed, by cause with its first message."""
    why = "; ".join(
        f"{cause.count} of {counted(failures.total, failures.of)} {cause.status}"
        + (f" ({cause.error})" if cause.error else "")
        for cause in failures.causes
    )
    if not failures.is_complete:
        return f"{failures.strategy} has lost winners, which count as throughput 0: {why}"
    what = "valid kernel" if failures.of == "trial" else "winner that is right"
    why = why or f"no trial was made ({failures.stopped or 'its budget ended before the first'})"
    return f"{failures.strategy} has no {what}: {why}"
