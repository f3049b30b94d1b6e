"""Sentences on repeats that stop by themselves: what was spent, and what it settled."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import CaseResult, Gate, SuiteVerdict
from pytest_ansorbench.report.cells import Count, Counted
from pytest_ansorbench.report.sections import Lines, Sentence
from pytest_ansorbench.stats.looks import Looks


def repeats_lines(cases: Sequence[CaseResult], suites: Sequence[SuiteVerdict]) -> Lines:
    """Tell how many repeats there were, and how gates stand.

    Args:
        cases: The cases, judged.
        suites: The verdicts over all of them.

    Returns:
        A sentence, none if the number of repeats was fixed.
    """
    looked = [case for case in cases if case.looks and case.runs]
    if not looked:
        return Lines(())
    seeds = [case.repeats for case in looked]
    most = max(Looks.parse(case.looks).most for case in looked)
    gates = [gate for case in cases for gate in case.gates]
    gates += [gate for suite in suites for gate in suite.gates]
    spread: Sentence = (
        (Count(min(seeds)),)
        if min(seeds) == max(seeds)
        else (Count(min(seeds)), " to ", Count(max(seeds)))
    )
    spent: Sentence = (
        "repeats: ",
        *spread,
        " of at most ",
        Count(most),
        " in ",
        Counted(len(looked), "case"),
        ", ",
        Count(sum(seeds)),
        " in all",
    )
    return Lines(((*spent, *_gate_summary(gates)),))


def _gate_summary(gates: Sequence[Gate]) -> Sentence:
    """How many gates are settled, given up, and open."""
    if not gates:
        return ("; no gate to settle",)
    decided = sum(gate.outcome != "undecided" for gate in gates)
    still_open = sum(gate.open for gate in gates)
    parts: list[Sentence] = [
        (Count(number), words)
        for number, words in (
            (decided, " decided"),
            (len(gates) - decided - still_open, " undecided, whatever repeats are left would show"),
            (still_open, " open, for want of time"),
        )
        if number
    ]
    return ("; gates: ", *(cell for i, part in enumerate(parts) for cell in (", ",)[:i] + part))
