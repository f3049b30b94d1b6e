"""Reports on pytest's terminal: as wide as it is, coloured as pytest is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pytest

from pytest_ansorbench.records import Outcome
from pytest_ansorbench.report import Report, Terminal

#: The colours that pytest gives to what failed, to warnings and to what passed.
_COLOURS: Final[Mapping[Outcome, str]] = MappingProxyType(
    {"broken": "red", "undecided": "yellow", "holds": "green"}
)


def print_report(reporter: pytest.TerminalReporter, report: Report) -> None:
    """Write a report, coloured unless pytest was told not to or its output is no terminal."""
    writer = reporter.config.get_terminal_writer()
    terminal = Terminal(
        lambda line, tone: writer.markup(line, yellow=tone == "warning"),
        lambda outcome: writer.markup(outcome, **{_COLOURS[outcome]: True}),
        # A log keeps its lines whole, to be searched.
        width=writer.fullwidth if writer.hasmarkup else None,
    )
    for line in terminal.render(report).split("\n"):
        reporter.write_line(line)
