"""What a report opens with: who is faster by how much, and what the gates say of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import (
    CaseResult,
    Estimate,
    Gate,
    Outcome,
    SuiteVerdict,
    Verdict,
)
from pytest_ansorbench.report.cells import (
    Count,
    Counted,
    GateMark,
    Limit,
    PlainRatio,
    Ratio,
    SuiteRatio,
    Text,
)
from pytest_ansorbench.report.sections import Lines, Sentence, listed
from pytest_ansorbench.stats.figures import FIGURES

_SPELT_OUT: Final = 6
"""Cases that hold are told one by one up to this number, else in one sentence."""
_MARGIN: Final = 0.005
"""A ratio this near to 1 reads as 1.00."""


def verdict_lines(cases: Sequence[CaseResult], suites: Sequence[SuiteVerdict]) -> Lines:
    """Tell in a sentence each what came of the suite and of the cases.

    Args:
        cases: The cases, judged.
        suites: The verdicts over all of them and over groups of them.

    Returns:
        First all cases together, if there are two or more; then the cases with a broken gate,
        those with an undecided one, the rest. Of many cases that hold only the ids are told. A
        case without a challenger, or without a run, says nothing.
    """
    sentences = [_suite(suite) for suite in suites if len(suite.cases) > 1 and not suite.group]
    verdicts = [verdict for case in cases for verdict in case.verdicts]
    for outcome in ("broken", "undecided", None):
        sentences += [_case(verdict) for verdict in verdicts if verdict.outcome == outcome]
    holding = [verdict for verdict in verdicts if verdict.outcome == "holds"]
    if len(holding) <= _SPELT_OUT:
        sentences += [_case(verdict) for verdict in holding]
    else:
        sentences += _holding(holding)
    return Lines(tuple(sentences))


def _suite(suite: SuiteVerdict) -> Sentence:
    total = len(suite.cases)
    ratio = suite.figure("search_ratio")
    throughput = suite.figure("throughput_ratio")
    included = total - len(ratio.lost)
    return (
        *_who(suite.challenger, suite.reference, ratio.estimate),
        " over ",
        Counted(total, "case"),
        " (S ",
        SuiteRatio(ratio.estimate, included, total),
        ", throughput ratio ",
        SuiteRatio(throughput.estimate, total - len(throughput.lost), total),
        ")",
        *_gate_summary(suite.gates, suite.outcome),
        *_lost(ratio.lost),
    )


def _lost(cases: Sequence[str]) -> Sentence:
    if not cases:
        return ()
    names = listed(Text(case) for case in cases)
    return ("; ", Counted(len(cases), "case"), " could not be compared: ", *names)


def _case(verdict: Verdict) -> Sentence:
    comparison = verdict.comparison
    return (
        Text(comparison.case),
        ": ",
        *_who(
            comparison.challenger.strategy, comparison.reference.strategy, comparison.search_ratio
        ),
        " (S ",
        _ratio(comparison.search_ratio),
        ", throughput ratio ",
        _ratio(comparison.throughput_ratio),
        ")",
        *_gate_summary(verdict.gates, verdict.outcome),
    )


def _ratio(estimate: Estimate) -> Ratio | PlainRatio:
    """A ratio; without an interval if too few repeats have left it without ends."""
    endless = estimate.low == 0.0 and math.isinf(estimate.high)
    plain = estimate.bound == "value" and endless
    return PlainRatio(estimate.value) if plain else Ratio(estimate)


def _who(challenger: str, reference: str, ratio: Estimate) -> Sentence:
    """Who reaches the reference's throughput how many times sooner."""
    goal: Sentence = (" ", Text(reference), "'s throughput")
    if ratio.bound == "undefined":
        return (Text(challenger), " could not be compared with ", Text(reference))
    if ratio.bound == "at-least" and ratio.value <= 1.0:
        return (Text(challenger), " does not reach all of", *goal)
    bound = {"value": "", "at-least": "at least ", "at-most": "at most "}[ratio.bound]
    if math.isinf(ratio.value):
        return (Text(challenger), " never reaches", *goal)
    if abs(ratio.value - 1.0) < _MARGIN:
        return (Text(challenger), " takes as long as ", Text(reference))
    if ratio.value < 1.0:
        times = PlainRatio(1.0 / ratio.value if ratio.value else math.inf)
        bound = "at least " if ratio.bound == "at-most" else ""
        return (Text(challenger), " reaches", *goal, " ", bound, times, " times sooner")
    return (
        *(Text(challenger), " takes ", bound, PlainRatio(ratio.value)),
        *(" times as long to reach", *goal),
    )


def _gate_summary(gates: Sequence[Gate], outcome: Outcome | None) -> Sentence:
    """How the gates stand: those that are worst off, or all of them if they hold."""
    if outcome is None:
        return ()
    worst = [gate for gate in gates if gate.outcome == outcome]
    limits: Sentence = ()
    for gate in worst:
        link = ", " if limits else ""
        limits += (link, FIGURES[gate.metric].name, " against ", Limit(gate.limit))
    needed = [
        gate.advice.repeats_needed - gate.repeats
        for gate in worst
        if gate.advice is not None and gate.advice.repeats_needed is not None
    ]
    more: Sentence = ()
    if len(needed) == len(worst) and max(needed) > 0:
        more = ("; about ", Counted(max(needed), "more repeat"), " would settle it")
    return (": ", GateMark(outcome), " (", *limits, ")", *more)


def _holding(verdicts: Iterable[Verdict]) -> Iterator[Sentence]:
    """One sentence for all cases of a challenger that hold."""
    by_challenger: dict[str, list[str]] = {}
    for verdict in verdicts:
        challenger = verdict.comparison.challenger.strategy
        by_challenger.setdefault(challenger, []).append(verdict.comparison.case)
    for challenger, cases in by_challenger.items():
        names = listed(Text(case) for case in cases)
        yield (Count(len(cases)), " cases of ", Text(challenger), " hold: ", *names)
