"""What a session shows: reports on pytest's terminal, and progress while cases are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import Final

import pytest

from pytest_ansorbench.bench import Progress, Silent
from pytest_ansorbench.options.settings import Settings, command_line
from pytest_ansorbench.records import Outcome, Result
from pytest_ansorbench.report.build import full_report, result_report
from pytest_ansorbench.report.progress import LiveLine, LiveTable, RepeatLog
from pytest_ansorbench.report.provenance import provenance
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.sections import Report
from pytest_ansorbench.stats.judging import JudgedResult
from pytest_ansorbench.winners import Script

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
    write_text(reporter, terminal.render(report))


def short_report(result: Result, settings: Settings, verbosity: int = 0) -> Report:
    """The table and what explains it; more of each case if more is asked for."""
    if verbosity > 1:
        return whole_report(result, settings)
    return result_report(
        _judged(result, settings),
        settings.table.layout,
        explained="fully" if verbosity else "briefly",
        detailed=verbosity > 0,
    )


def whole_report(result: Result, settings: Settings, scripts: Sequence[Script] = ()) -> Report:
    """All that is known of a result."""
    return full_report(
        _judged(result, settings),
        settings.table.layout,
        scripts=scripts,
        rests_on=provenance(result, command_line(result.settings)),
    )


def _judged(result: Result, settings: Settings) -> JudgedResult:
    return JudgedResult(
        result.cases, result.suites, settings.criteria, result.noise, result.machines
    )


def progress_on(config: pytest.Config) -> Progress:
    """What shows progress: a live display on a terminal, lines in a log."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0:
        return Silent()
    capture = config.pluginmanager.getplugin("capturemanager")

    def write(text: str) -> None:
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.write(_showable(text, config), flush=True)

    reporter.ensure_newline()
    if reporter.isatty:
        try:
            return LiveTable(write, coloured=reporter.hasmarkup)
        except ImportError:
            return LiveLine(write)
    return RepeatLog(lambda line: write(f"{line}\n"))


def write_text(reporter: pytest.TerminalReporter, text: str) -> None:
    """Write lines on pytest's terminal."""
    for line in _showable(text, reporter.config).split("\n"):
        reporter.write_line(line)


def _showable(text: str, config: pytest.Config) -> str:
    """Text with numbers for the characters that the terminal cannot show.

    pytest does as much for a text as a whole, its line ends and colours included.
    """
    encoding = getattr(config.get_terminal_writer()._file, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
