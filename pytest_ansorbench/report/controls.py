"""Sentences on the controls of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_ansorbench.records import CaseResult, Comparison
from pytest_ansorbench.report.cells import (
    Count,
    Decimals,
    Percentage,
    Ratio,
    Seconds,
    Significant,
    Text,
)
from pytest_ansorbench.report.sections import Lines, Sentence
from pytest_ansorbench.stats.compare import pair_case_runs
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import truncate_reference


def control_lines(results: Sequence[CaseResult], criteria: Criteria) -> Lines:
    """Read the controls of cases that were run with one.

    Two controls: the reference against itself, which must show nothing, and the reference cut
    off at the time that a challenger takes to the target, which shows what stopping early
    would have cost.

    Args:
        results: The cases.
        criteria: How their figures were computed.

    Returns:
        One sentence for each case and control; none for cases without.
    """
    return Lines(
        tuple(
            ("control: ", Text(result.case), ": ", *sentence)
            for result in results
            if result.control is not None
            for sentence in _sentences(result, criteria)
        )
    )


def _sentences(result: CaseResult, criteria: Criteria) -> Iterator[Sentence]:
    for verdict in result.verdicts:
        if verdict.comparison.challenger.strategy == result.control:
            yield _against_itself(verdict.comparison, criteria.confidence)
        else:
            yield _cut_off(result, verdict.comparison.challenger.strategy, criteria)


def _against_itself(comparison: Comparison, confidence: float) -> Sentence:
    search, throughput = comparison.search_ratio, comparison.throughput_ratio
    shown = (
        Text(comparison.reference.strategy),
        " against itself: S ",
        Ratio(search),
        ", throughput ratio ",
        Ratio(throughput),
    )
    off = [
        name
        for name, estimate in (("S", search), ("the throughput ratio", throughput))
        if not estimate.low <= 1.0 <= estimate.high
    ]
    if off:
        return (
            *shown,
            "; 1 is outside the interval of ",
            " and ".join(off),
            ", as by chance in one of ",
            Count(round(1.0 / (1.0 - confidence))),
            " sessions: if it is so again, something other than the search differs between the "
            "arms, and no figure can be trusted",
        )
    return (
        *shown,
        "; as it should be, so ratios within these intervals are noise on this machine",
    )


def _cut_off(result: CaseResult, strategy: str, criteria: Criteria) -> Sentence:
    reference = result.strategies[0]
    cut = truncate_reference(pair_case_runs(result, strategy, criteria))
    if cut is None:
        return (
            Text(strategy),
            " never reaches the target, so there is no time to cut ",
            Text(reference),
            " off at",
        )
    return (
        Text(reference),
        " cut off after ",
        Seconds(cut.search_s, Decimals(1)),
        " s, the time that ",
        Text(strategy),
        " takes to the target, has ",
        Percentage(cut.kept, Significant(2)),
        " of its final search throughput: ",
        "simply stopping it early would have done as well"
        if cut.kept >= 1.0 - criteria.tolerance
        else "that much is what the time saved is worth",
    )
