"""Formats that a command's report is asked for in."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_ansorbench.cli.exits import Refusal, parsed

if TYPE_CHECKING:
    from pytest_ansorbench.records import Outcome
    from pytest_ansorbench.report.render.outputs import Output
    from pytest_ansorbench.report.render.terminal import Terminal
    from pytest_ansorbench.report.sections import Report, Tone

_DEFAULT = "terminal"


def add_formats(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        action="append",
        dest="formats",
        metavar="FORMAT[:PATH]",
        help="terminal, markdown, html, csv, json, latex or comment (the worst in markdown of at "
        "most 65,000 bytes), to standard output or to a file, e.g. html:pr.html; may be given "
        f"several times (default: {_DEFAULT})",
    )


def put_out(report: Report, outputs: Sequence[Output]) -> None:
    """Write a report in every format that was asked for, as `put_each` does."""
    put_each((report, output) for output in outputs)


def put_each(reports: Iterable[tuple[Report, Output]]) -> None:
    """Write reports; one that cannot be written costs itself alone, and is told in the end."""
    refused: Refusal | None = None
    for report, output in reports:
        try:
            _put(report, output)
        except Refusal as error:
            refused = refused or error
    if refused is not None:
        raise refused


def _put(report: Report, output: Output) -> None:
    from pytest_ansorbench.report.render.outputs import Output, write_report

    try:
        if output == Output(_DEFAULT):
            print(terminal().render(report))
        else:
            if output.path is None:
                _take_any_text()
            write_report(report, [output], print)
    except BrokenPipeError:
        raise  # `main` tells what that is
    except OSError as error:
        raise Refusal(f"bad --format {str(output)!r}: {error}") from None
    if output.path is not None:
        # Other formats may be in standard output.
        print(f"written: {output.path}", file=sys.stderr)


def _take_any_text() -> None:
    """Have standard output hold what a file would, whatever a terminal can show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def outputs_of(given: argparse.Namespace) -> list[Output]:
    """The formats that were asked for; call it before there is anything to wait for."""
    from pytest_ansorbench.report.render.outputs import Output

    return [parsed("--format", text, Output.parse) for text in given.formats or [_DEFAULT]]


def terminal() -> Terminal:
    """As wide as the terminal and in colours; a file or a pipe gets plain lines of any length."""
    from pytest_ansorbench.report.render.terminal import Terminal

    if not sys.stdout.isatty():
        return Terminal()
    width = shutil.get_terminal_size().columns
    # https://no-color.org
    return Terminal(width=width) if os.environ.get("NO_COLOR") else Terminal(_paint, _mark, width)


def _paint(line: str, tone: Tone) -> str:
    return _coloured(line, 33) if tone == "warning" else line


def _mark(outcome: Outcome) -> str:
    return _coloured(outcome, {"broken": 31, "undecided": 33, "holds": 32}[outcome])


def _coloured(text: str, code: int) -> str:
    """Text in a foreground colour of ECMA-48, 8.3.117."""
    return f"\033[{code}m{text}\033[0m"
