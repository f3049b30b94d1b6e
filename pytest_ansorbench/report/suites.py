"""Sentences on the gates of a suite."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import Gate, SuiteVerdict
from pytest_ansorbench.report.cells import Counted, Text
from pytest_ansorbench.report.gates import gate_sentence
from pytest_ansorbench.report.sections import Lines, Sentence


def suite_lines(suites: Sequence[SuiteVerdict]) -> Lines:
    """Tell the verdicts over all cases.

    Args:
        suites: The suites; those without gates say nothing.

    Returns:
        A sentence for each gate.
    """
    return Lines(tuple(suite_sentence(suite, gate) for suite in suites for gate in suite.gates))


def suite_sentence(suite: SuiteVerdict, gate: Gate) -> Sentence:
    """One gate of a suite."""
    return (
        "suite of ",
        Counted(len(suite.cases), "case"),
        ", ",
        Text(suite.challenger),
        " against ",
        Text(suite.reference),
        ": ",
        *gate_sentence(gate),
    )
