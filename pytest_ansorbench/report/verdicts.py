"""What a report opens with: who is sooner by how much, and what the gates say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_ansorbench.records import CaseResult, Comparison, Gate, Outcome, SuiteVerdict, Verdict
from pytest_ansorbench.report.cells import SuiteRatio
from pytest_ansorbench.report.claims import Claim
from pytest_ansorbench.report.gates import lost_cases
from pytest_ansorbench.report.sections import GateSentence, Lines, Sentence
from pytest_ansorbench.report.wording import counted, limit_text, ratio_text, short_estimate_text
from pytest_ansorbench.stats.estimates import is_plain
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.goal import Goal

SPELT_OUT: Final = 6
"""Cases in one state are told one by one up to this number, else in one sentence."""


def verdict_lines(cases: Sequence[CaseResult], suites: Sequence[SuiteVerdict], goal: Goal) -> Lines:
    """Tell in a sentence each what came of the suite and of the cases.

    First all cases together, if there are two or more; then the cases with a broken gate, those
    with an undecided one, the rest. A case without a challenger, or without a run, says nothing.
    """
    verdicts = [verdict for case in cases for verdict in case.verdicts]
    compared = [verdict.comparison for verdict in verdicts]
    looked = any(case.looks for case in cases)
    sentences = [
        _suite(suite, compared, goal, looked)
        for suite in suites
        if len(suite.cases) > 1 and not suite.group
    ]
    sentences += [_case(verdict, goal) for verdict in verdicts if verdict.outcome == "broken"]
    for outcome in ("undecided", None, "holds"):
        alike = [verdict for verdict in verdicts if verdict.outcome == outcome]
        if outcome is None or len(alike) <= SPELT_OUT:
            sentences += [_case(verdict, goal) for verdict in alike]
        else:
            states = ("holds", "hold") if outcome == "holds" else ("is undecided", "are undecided")
            sentences += _alike(alike, *states)
    return Lines.of(sentences)


def _suite(
    suite: SuiteVerdict, compared: Sequence[Comparison], goal: Goal, looked: bool
) -> Sentence:
    own = [
        one
        for one in compared
        if one.case in suite.cases
        and one.challenger.strategy == suite.challenger
        and one.reference.strategy == suite.reference
    ]
    claim = (
        f"{counted(len(suite.cases), 'case')}: {Claim.of_suite(suite, own, goal)} "
        f"(S {SuiteRatio.of(suite, 'search_ratio')}{_range(own)}, "
        f"throughput ratio {SuiteRatio.of(suite, 'throughput_ratio')}{_worst(suite, own)})"
    )
    lost = lost_cases(suite.figure("search_ratio").lost, "; ")
    # A look is at the first repeats of every case, a single judgement at all that there are.
    repeats = [one.reference.runs for one in own] or [0]
    runs = max(repeats) if looked else min(repeats)
    return _with_gates(claim, suite.gates, suite.outcome, runs, lost)


def _range(compared: Sequence[Comparison]) -> str:
    """How much the cases of a suite differ in S."""
    values = [one.search_ratio.value for one in compared if is_plain(one.search_ratio)]
    if len(values) < 2:
        return ""
    return f", of cases {ratio_text(min(values))} to {ratio_text(max(values))}"


def _worst(suite: SuiteVerdict, compared: Sequence[Comparison]) -> str:
    """The case with the slowest kernels, if they are slower than the suite may have them."""
    limits = [gate.limit for gate in suite.gates if gate.metric == "throughput_ratio"]
    known = [one for one in compared if is_plain(one.throughput_ratio)]
    if not limits or not known:
        return ""
    worst = min(known, key=lambda one: one.throughput_ratio.value)
    value = worst.throughput_ratio.value
    return f", of {worst.case} {ratio_text(value)}" if value < limits[0] else ""


def _case(verdict: Verdict, goal: Goal) -> Sentence:
    compared = verdict.comparison
    ratio = short_estimate_text(compared.search_ratio)
    other = short_estimate_text(compared.throughput_ratio)
    claim = (
        f"{compared.case}: {Claim.of_case(compared, goal)} (S {ratio}, throughput ratio {other})"
    )
    return _with_gates(claim, verdict.gates, verdict.outcome, compared.reference.runs)


def _with_gates(
    claim: str, gates: Sequence[Gate], outcome: Outcome | None, runs: int, lost: str = ""
) -> Sentence:
    """A claim about `runs` runs, followed by its worst gates, or by all of them if they hold."""
    if outcome is None:
        return f"{claim}{lost}"
    worst = [gate for gate in gates if gate.outcome == outcome]
    limits = ", ".join(
        f"{FIGURES[gate.metric].name} against {limit_text(gate.limit)}{_when(gate, runs)}"
        for gate in worst
    )
    needed = [
        gate.advice.repeats_needed - gate.repeats
        for gate in worst
        if gate.advice is not None
        and gate.advice.prospect == "settles"
        and gate.advice.repeats_needed is not None
        and gate.repeats >= runs
    ]
    more = ""
    if len(needed) == len(worst) and max(needed) > 0:
        more = f"; about {counted(max(needed), 'more repeat')} would settle it"
    return GateSentence(f"{claim}: ", outcome, f" ({limits}){more}{lost}")


def _when(gate: Gate, runs: int) -> str:
    """After which repeats a gate was settled, if the claim stands on more."""
    return f", after {gate.repeats} of {runs} repeats" if 0 < gate.repeats < runs else ""


def _alike(verdicts: Iterable[Verdict], of_one: str, of_many: str) -> Iterator[Sentence]:
    """One sentence for all cases of a challenger in one state."""
    by_challenger: dict[str, list[str]] = {}
    for verdict in verdicts:
        challenger = verdict.comparison.challenger.strategy
        by_challenger.setdefault(challenger, []).append(verdict.comparison.case)
    for challenger, cases in by_challenger.items():
        state = of_one if len(cases) == 1 else of_many
        yield f"{counted(len(cases), 'case')} of {challenger} {state}: {', '.join(cases)}"
