"""Sentences on the controls of a session.

Two controls: the reference against itself, which must show nothing, and the reference cut off at
the time that a challenger takes to the target, which shows what stopping early would have cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_ansorbench.records import CaseResult, Comparison
from pytest_ansorbench.report.sections import Lines
from pytest_ansorbench.report.wording import estimate_text, percent_text
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import truncate_reference
from pytest_ansorbench.stats.paired_runs import pair_case_runs


def control_lines(results: Sequence[CaseResult], criteria: Criteria) -> Lines:
    """Read the controls of cases that were run with one."""
    return Lines.of(
        f"control: {result.case}: {sentence}"
        for result in results
        if result.control is not None
        for sentence in _sentences(result, criteria)
    )


def _sentences(result: CaseResult, criteria: Criteria) -> Iterator[str]:
    for verdict in result.verdicts:
        if verdict.comparison.challenger.strategy == result.control:
            yield _against_itself(verdict.comparison, criteria.confidence)
        else:
            yield _cut_off(result, verdict.comparison.challenger.strategy, criteria)


def _against_itself(comparison: Comparison, confidence: float) -> str:
    search, throughput = comparison.search_ratio, comparison.throughput_ratio
    shown = (
        f"{comparison.reference.strategy} against itself: S {estimate_text(search)}, throughput "
        f"ratio {estimate_text(throughput)}"
    )
    off = [
        name
        for name, estimate in (("S", search), ("the throughput ratio", throughput))
        if not estimate.low <= 1.0 <= estimate.high
    ]
    if off:
        return (
            f"{shown}; 1 is outside the interval of {' and '.join(off)}, as by chance in one of "
            f"{round(1.0 / (1.0 - confidence))} sessions: if it is so again, something other than "
            "the search differs between the arms, and no figure can be trusted"
        )
    if all(one.low == 0.0 and math.isinf(one.high) for one in (search, throughput)):
        return f"{shown}; without an interval this control tells nothing"
    return f"{shown}; as it should be, so ratios within these intervals are noise on this machine"


def _cut_off(result: CaseResult, strategy: str, criteria: Criteria) -> str:
    reference = result.strategies[0]
    paired = pair_case_runs(result, strategy, criteria)
    cut = truncate_reference(paired)
    if cut is None:
        return f"{strategy} never reaches the target, so there is no time to cut {reference} off at"
    longest_s = max(float(run.search_s[-1]) for run in paired.reference)
    if cut.search_s >= longest_s:
        return (
            f"{strategy} takes {cut.search_s:.1f} s to the target, and no search of {reference} "
            f"more than {longest_s:.1f} s: it saves no time"
        )
    lesson = "that much is what the time saved is worth"
    if cut.kept >= 1.0 - criteria.tolerance:
        lesson = "simply stopping it early would have done as well"
    return (
        f"{reference} cut off after {cut.search_s:.1f} s, the time that {strategy} takes to the "
        f"target, has {percent_text(cut.kept, 2)} of its final search throughput: {lesson}"
    )
