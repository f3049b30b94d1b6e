"""The sentence on a gate: its figure, its limit, and what it came to."""

from __future__ import annotations

from pytest_ansorbench.records import Gate
from pytest_ansorbench.report.cells import Text
from pytest_ansorbench.report.sections import Sentence


def gate_sentence(gate: Gate) -> Sentence:
    """Say how a figure stands to its limit."""
    return (Text(gate.message),)
