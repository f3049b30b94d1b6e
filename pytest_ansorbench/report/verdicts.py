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
from pytest_ansorbench.report.cells import SuiteRatio
from pytest_ansorbench.report.gates import lost_cases
from pytest_ansorbench.report.sections import GateSentence, Lines, Sentence
from pytest_ansorbench.report.wording import counted, limit_text, ratio_text, short_estimate_text
from pytest_ansorbench.stats.figures import FIGURES

_SPELT_OUT: Final = 6
"""Cases that hold are told one by one up to this number, else in one sentence."""
_MARGIN: Final = 0.005
"""A ratio this near to 1 reads as 1.00."""


def verdict_lines(cases: Sequence[CaseResult], suites: Sequence[SuiteVerdict]) -> Lines:
    """Tell in a sentence each what came of the suite and of the cases.

    First all cases together, if there are two or more; then the cases with a broken gate, those
    with an undecided one, the rest. A case without a challenger, or without a run, says nothing.
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
    search = suite.figure("search_ratio")
    who = _who(suite.challenger, suite.reference, search.estimate)
    claim = (
        f"{who} over {counted(len(suite.cases), 'case')} (S {SuiteRatio.of(suite, 'search_ratio')}"
        f", throughput ratio {SuiteRatio.of(suite, 'throughput_ratio')})"
    )
    return _with_gates(claim, suite.gates, suite.outcome, lost_cases(search.lost, "; "))


def _case(verdict: Verdict) -> Sentence:
    compared = verdict.comparison
    who = _who(compared.challenger.strategy, compared.reference.strategy, compared.search_ratio)
    ratio = short_estimate_text(compared.search_ratio)
    other = short_estimate_text(compared.throughput_ratio)
    claim = f"{compared.case}: {who} (S {ratio}, throughput ratio {other})"
    return _with_gates(claim, verdict.gates, verdict.outcome)


def _who(challenger: str, reference: str, ratio: Estimate) -> str:
    """Who reaches the reference's throughput how many times sooner."""
    goal = f"{reference}'s throughput"
    if ratio.bound == "undefined":
        return f"{challenger} could not be compared with {reference}"
    if ratio.bound == "at-least" and ratio.value <= 1.0:
        return f"{challenger} does not reach all of {goal}"
    if math.isinf(ratio.value):
        return f"{challenger} never reaches {goal}"
    if abs(ratio.value - 1.0) < _MARGIN:
        return f"{challenger} takes as long as {reference}"
    if ratio.value < 1.0:
        bound = "at least " if ratio.bound == "at-most" else ""
        times = ratio_text(1.0 / ratio.value if ratio.value else math.inf)
        return f"{challenger} reaches {goal} {bound}{times} times sooner"
    bound = {"value": "", "at-least": "at least ", "at-most": "at most "}[ratio.bound]
    return f"{challenger} takes {bound}{ratio_text(ratio.value)} times as long to reach {goal}"


def _with_gates(
    claim: str, gates: Sequence[Gate], outcome: Outcome | None, lost: str = ""
) -> Sentence:
    """A claim, and its gates: those that are worst off, or all of them if they hold."""
    if outcome is None:
        return f"{claim}{lost}"
    worst = [gate for gate in gates if gate.outcome == outcome]
    limits = ", ".join(
        f"{FIGURES[gate.metric].name} against {limit_text(gate.limit)}" for gate in worst
    )
    needed = [
        gate.advice.repeats_needed - gate.repeats
        for gate in worst
        if gate.advice is not None and gate.advice.repeats_needed is not None
    ]
    more = ""
    if len(needed) == len(worst) and max(needed) > 0:
        more = f"; about {counted(max(needed), 'more repeat')} would settle it"
    return GateSentence(f"{claim}: ", outcome, f" ({limits}){more}{lost}")


def _holding(verdicts: Iterable[Verdict]) -> Iterator[Sentence]:
    """One sentence for all cases of a challenger that hold."""
    by_challenger: dict[str, list[str]] = {}
    for verdict in verdicts:
        challenger = verdict.comparison.challenger.strategy
        by_challenger.setdefault(challenger, []).append(verdict.comparison.case)
    for challenger, cases in by_challenger.items():
        yield f"{len(cases)} cases of {challenger} hold: {', '.join(cases)}"
