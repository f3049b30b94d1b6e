"""The suite's verdict as a test of its own, collected last."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_ansorbench.plugin.fixture import UndecidedWarning, complaints_of_change

if TYPE_CHECKING:
    from pytest_ansorbench.plugin.bench import Bench
    from pytest_ansorbench.records import SuiteVerdict

NAME: Final = "suite"
NODE_ID: Final = f"ansor-bench::{NAME}"
"""How reports, `--lf` and JUnit XML call it."""


class Suite(pytest.Item):
    """Judges all cases of a session together, after the last of them."""

    def __init__(self, *, bench: Bench, **keywords: Any) -> None:
        """Made by `from_parent`; see `suite_item`."""
        super().__init__(**keywords)
        self._bench = bench

    def runtest(self) -> None:
        """Fail if a gate of the suite is broken, warn if one is undecided."""
        __tracebackhide__ = True
        self._bench.settle_suite()
        together = self._bench.together
        verdicts, changes = together.verdicts, together.changes
        for verdict in verdicts:
            self.user_properties += _properties(verdict)
        if not together.gates:
            pytest.fail(
                "no case was compared, so there is nothing to judge the suite by; run it with its "
                "cases, without --lf or -k",
                pytrace=False,
            )
        complaints = {
            outcome: [
                *_complaints(verdicts, outcome),
                *(one for of in changes for one in complaints_of_change(of, outcome)),
            ]
            for outcome in _OUTCOMES
        }
        if self._bench.settings.strict:
            complaints["broken"] += complaints.pop("undecided")
        if complaints["broken"]:
            pytest.fail("\n".join(complaints["broken"]), pytrace=False)
        for complaint in complaints.get("undecided", ()):
            warnings.warn(UndecidedWarning(complaint), stacklevel=2)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """What a report calls it."""
        return self.path, None, NODE_ID


_OUTCOMES: Final = ("broken", "undecided")


def suite_item(session: pytest.Session, bench: Bench) -> Suite:
    """The test of a session's suite."""
    item: Suite = Suite.from_parent(session, name=NAME, nodeid=NODE_ID, bench=bench)
    return item


def _complaints(verdicts: tuple[SuiteVerdict, ...], outcome: str) -> list[str]:
    """A sentence for each gate of this outcome."""
    from pytest_ansorbench.report import Terminal, suite_sentence

    return [
        Terminal().line(suite_sentence(verdict, gate))
        for verdict in verdicts
        for gate in verdict.gates
        if gate.outcome == outcome
    ]


def _properties(verdict: SuiteVerdict) -> list[tuple[str, object]]:
    """Figures for JUnit XML and other readers of a test report's properties."""
    group = f"_{verdict.group}" if verdict.group else ""
    prefix = f"ansor_suite{group}_{verdict.challenger}"
    return [
        (f"{prefix}_search_ratio", verdict.figure("search_ratio").estimate.value),
        (f"{prefix}_throughput_ratio", verdict.figure("throughput_ratio").estimate.value),
        (f"{prefix}_verdict", verdict.outcome or "no gate"),
    ]
