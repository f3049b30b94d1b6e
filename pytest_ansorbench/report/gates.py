"""Sentences on gates: figure, limit, outcome, the use of more repeats, and what was spent."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import Advice, CaseResult, Gate, SuiteVerdict
from pytest_ansorbench.report.sections import GateSentence, Lines, Sentence
from pytest_ansorbench.report.wording import (
    counted,
    limit_text,
    percent_text,
    ratio_text,
    statement_text,
)
from pytest_ansorbench.stats.changes import Change
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.power import MOST_REPEATS


def gate_sentence(gate: Gate, subject: str = "", unit: str = "repeat") -> GateSentence:
    """A gate on a figure that has a limit, after the words on what it is a gate of.

    `unit` is what its repeats are called.
    """
    return _sentence(gate, f"{subject}{FIGURES[gate.metric].name}", unit)


def suite_sentence(suite: SuiteVerdict, gate: Gate) -> GateSentence:
    """One gate of a suite."""
    cases = counted(len(suite.cases), "case")
    return gate_sentence(gate, f"suite of {cases}, {suite.challenger} against {suite.reference}: ")


def suite_lines(suites: Sequence[SuiteVerdict]) -> Lines:
    return Lines.of(suite_sentence(suite, gate) for suite in suites for gate in suite.gates)


def change_sentence(change: Change, any_machine: str, subject: str = "") -> Sentence:
    """The gate on a figure that was compared with an earlier result; empty without a gate.

    `any_machine` names the option that allows comparisons between machines.
    """
    gate, metric = change.gate, change.metric
    if gate is None:
        return ""
    if gate.reason != "other-machine":
        return _sentence(gate, f"{subject}{metric} now over before")
    anywhere = (one for one in FIGURES.values() if one.per_case and not one.per_machine)
    ratios = " or ".join(one.key for one in anywhere if one.limit_word)
    return GateSentence(
        f"{subject}{metric}: nothing could be compared, for the earlier result is from another "
        f"machine ({change.other_machine}); gate a ratio such as {ratios}, or give {any_machine}: ",
        gate.outcome,
    )


def repeats_lines(cases: Sequence[CaseResult], suites: Sequence[SuiteVerdict]) -> Lines:
    """How many repeats there were, and how gates stand; nothing if there were those planned."""
    looked = [case for case in cases if case.looks and case.runs and _went_on(case)]
    if not looked:
        return Lines(())
    seeds = [case.repeats for case in looked]
    most = max(Looks.parse(case.looks).most for case in looked)
    gates = [gate for case in cases for gate in case.gates]
    gates += [gate for suite in suites for gate in suite.gates]
    least = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
    return Lines(
        (
            f"repeats: {least}{max(seeds)} of at most {most} in {counted(len(looked), 'case')}, "
            f"{sum(seeds)} in all; {_gate_summary(gates)}",
        )
    )


def _went_on(case: CaseResult) -> bool:
    looks = Looks.parse(case.looks)
    return case.repeats > looks.least or not looks.if_suspect


def _gate_summary(gates: Sequence[Gate]) -> str:
    """How many gates are settled, given up, and open."""
    if not gates:
        return "no gate to settle"
    decided = sum(gate.outcome != "undecided" for gate in gates)
    still_open = sum(gate.open for gate in gates)
    parts = (
        (decided, "decided"),
        (len(gates) - decided - still_open, "undecided, whatever repeats are left would show"),
        (still_open, "open, for want of time"),
    )
    return "gates: " + ", ".join(f"{number} {words}" for number, words in parts if number)


def _sentence(gate: Gate, name: str, unit: str = "repeat") -> GateSentence:
    limit = limit_text(gate.limit)
    if gate.reason == "nothing-to-compare":
        words = f"{name}: nothing could be compared with the limit {limit}: "
        return GateSentence(words, gate.outcome)
    clause = f"{name} {statement_text(gate.estimate, gate.limit)}"
    verb = "exceeds" if FIGURES[gate.metric].sense == "smaller" else "falls short of"
    if gate.reason == "lost-cases":
        but = lost_cases(gate.lost, ", but ")
        return GateSentence(f"{clause} is within the limit {limit}{but}: ", gate.outcome)
    if gate.reason == "within":
        clause += f" is within the limit {limit}"
    elif gate.reason == "straddles":
        clause += f": its interval straddles the limit {limit}"
    elif gate.reason == "within-noise":
        # The near end of the interval, that is: the figure may be far beyond the limit.
        less = percent_text(gate.noise, 2)
        clause += f": its interval {verb} the limit {limit} by less than {less}"
    else:
        clause += f" {verb} the limit {limit}"
    if gate.reason == "chance" and gate.p_value is not None:
        clause += f", but chance would do that in {percent_text(gate.p_value, 2)} of sessions"
    clause += lost_cases(gate.lost, "; ")
    advice = "" if gate.advice is None else f" ({_advice(gate, gate.advice, unit)})"
    return GateSentence(f"{clause}: ", gate.outcome, advice)


def lost_cases(cases: Sequence[str], link: str) -> str:
    """The cases that a suite could not compare; empty without any."""
    if not cases:
        return ""
    return f"{link}{counted(len(cases), 'case')} could not be compared: {', '.join(cases)}"


def _advice(gate: Gate, advice: Advice, unit: str) -> str:
    repeats, prospect = counted(gate.repeats, unit), _prospect(gate, advice, unit)
    if advice.detectable is None:
        return f"{repeats}; {prospect}"
    side = "below" if FIGURES[gate.metric].sense == "smaller" else "above"
    detectable = ratio_text(advice.detectable)
    return f"with {repeats} a figure has to be {side} about {detectable} to hold; {prospect}"


def _prospect(gate: Gate, advice: Advice, unit: str) -> str:
    """The use of more repeats."""
    seen = ratio_text(gate.estimate.value)
    match advice.prospect:
        case "no-interval":
            return f"below {advice.repeats_needed or 0} there is no interval"
        case "unknown":
            return f"more {unit}s narrow the interval"
        case "too-close":
            return f"this close to the limit no number of {unit}s would settle it"
        case "too-many":
            return f"at {seen} not even {MOST_REPEATS} would settle it"
        case "settles":
            return f"at {seen} about {advice.repeats_needed or 0} would settle it"
