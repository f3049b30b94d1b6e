"""What changed since an earlier result, as a table and in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tabulate import tabulate

from pytest_ansorbench.report.columns import BLANK, NOTHING
from pytest_ansorbench.report.gate_sentences import change_sentence
from pytest_ansorbench.report.text import markdown_cell, printable
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.changes import CaseChanges, Change

_HEADINGS = ("case", "strategy", "figure", "before", "now", "now / before", "verdict")


def render_changes(changes: Sequence[CaseChanges], *, markdown: bool = False) -> str:
    """Render the table of changes.

    Args:
        changes: Of each case.
        markdown: Whether to print a Markdown table.

    Returns:
        Lines without a newline at the end; a sentence if nothing could be compared.
    """
    rows = [_row(change) for case in changes for change in case.changes]
    if not rows:
        return "nothing could be compared"
    escape = markdown_cell if markdown else printable
    rendered: str = tabulate(
        [[escape(cell) for cell in row] for row in rows],
        headers=_HEADINGS,
        tablefmt="pipe" if markdown else "simple",
        colalign=("left", "left", "left", "right", "right", "right", "left"),
        disable_numparse=True,
    )
    return rendered


def describe_changes(changes: Sequence[CaseChanges], any_machine: str) -> tuple[str, ...]:
    """Say what the table cannot: gates that are not kept, and cases that were not compared.

    Args:
        changes: Of each case.
        any_machine: The option that compares figures of other machines all the same.
    """
    lines = [
        f"{change.case}, {change.strategy}: {change_sentence(change, any_machine)}"
        for case in changes
        for change in case.changes
        if change.gate is not None and change.gate.outcome != "holds"
    ]
    lines += [
        f"{case.case}: not compared: {case.incomparable}" for case in changes if case.incomparable
    ]
    return tuple(printable(line) for line in lines)


def _row(change: Change) -> tuple[str, ...]:
    return (
        change.case,
        change.strategy,
        change.metric,
        _figure(change.before),
        _figure(change.after),
        estimate_text(change.ratio),
        change.gate.outcome if change.gate is not None else BLANK,
    )


def _figure(value: float | None) -> str:
    if value is None:
        return NOTHING
    return "never" if math.isinf(value) else f"{value:.4g}"
