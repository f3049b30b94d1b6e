"""The `ansor_bench` fixture: runs one case for one test, and passes or fails it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Protocol

import pytest

from pytest_ansorbench.plugin.selection import is_case
from pytest_ansorbench.plugin.usage import failure

if TYPE_CHECKING:
    from pytest_ansorbench.plugin.bench import Bench
    from pytest_ansorbench.records import CaseResult, Verdict
    from pytest_ansorbench.stats.changes import CaseChanges
    from pytest_ansorbench.workloads import Case


class UndecidedWarning(pytest.PytestWarning):
    """A gate could not be decided with the repeats that were run."""


class AnsorBench(Protocol):
    """The `ansor_bench` fixture: call it with a case."""

    def __call__(self, case: Case | str) -> CaseResult:
        """Tune a case with every strategy, compare, and fail the test if a gate is broken.

        Args:
            case: A case, or the id of a shipped one.

        Returns:
            All runs of the case, and the verdicts on them.
        """
        ...


class OneTest:
    """The fixture's value: runs one case for one test."""

    def __init__(self, bench: Bench, item: pytest.Item) -> None:
        self._bench = bench
        self._item = item
        self._used = False

    def __call__(self, case: Case | str) -> CaseResult:
        """Tune, compare, judge; see `AnsorBench`."""
        __tracebackhide__ = True
        case = the_case(case, self._used)
        self._used = True
        result = self._bench.run(self._item, case)
        self._judge(result, self._bench.changes_of(self._item, result))
        return result

    def _judge(self, result: CaseResult, changes: CaseChanges | None) -> None:
        __tracebackhide__ = True
        settings = self._bench.settings_of(self._item)
        for verdict in result.verdicts:
            self._item.user_properties += _properties(verdict)
        if not self._bench.judges:
            return
        complaints = {
            outcome: [*_complaints(result, outcome), *complaints_of_change(changes, outcome)]
            for outcome in ("broken", "undecided")
        }
        if changes is not None and changes.incomparable and settings.baseline.allowances:
            complaints["undecided"].append(
                f"{result.case}: not compared with the earlier result: {changes.incomparable}"
            )
        if settings.strict:
            complaints["broken"] += complaints.pop("undecided")
        if complaints["broken"]:
            from pytest_ansorbench.report import Terminal, failure_report

            tables = Terminal().render(failure_report(result, changes))
            pytest.fail("\n".join([*complaints["broken"], "", tables]), pytrace=False)
        for complaint in complaints.get("undecided", ()):
            warnings.warn(UndecidedWarning(complaint), stacklevel=3)


def the_case(case: Case | str, used: bool) -> Case:
    """The one case that a test asks for.

    Args:
        case: What the fixture was called with.
        used: Whether it has been called before.

    Raises:
        pytest.fail.Exception: It is no case, or a second one.
    """
    from pytest_ansorbench.workloads import UnknownCase, get

    __tracebackhide__ = True
    if used:
        pytest.fail("ansor_bench was called twice; a test tunes one case", pytrace=False)
    if isinstance(case, str):
        try:
            return get(case)
        except UnknownCase as error:
            raise failure(str(error)) from None
    if not is_case(case):
        pytest.fail(
            f"bad case {case!r}: expected a case or the id of one, e.g. workloads.CONV2D[0]",
            pytrace=False,
        )
    return case


def _complaints(result: CaseResult, outcome: str) -> list[str]:
    """A sentence for each gate of this outcome."""
    from pytest_ansorbench.report import Terminal, gate_sentence

    return [
        f"{result.case}, {verdict.comparison.challenger.strategy} against "
        f"{verdict.comparison.reference.strategy}: {Terminal().line(gate_sentence(gate))}"
        for verdict in result.verdicts
        for gate in verdict.gates
        if gate.outcome == outcome
    ]


def complaints_of_change(changes: CaseChanges | None, outcome: str) -> list[str]:
    """A sentence for each change of this outcome."""
    from pytest_ansorbench.plugin.baseline import ANY_MACHINE
    from pytest_ansorbench.report import Terminal, change_sentence

    return [
        f"{change.case}, {change.strategy} against the earlier result: "
        f"{Terminal().line(change_sentence(change, ANY_MACHINE))}"
        for change in (changes.changes if changes is not None else ())
        if change.gate is not None and change.gate.outcome == outcome
    ]


def _properties(verdict: Verdict) -> list[tuple[str, object]]:
    """Figures for JUnit XML and other readers of a test report's properties."""
    comparison = verdict.comparison
    prefix = f"ansor_{comparison.challenger.strategy}"
    return [
        (f"{prefix}_search_ratio", comparison.search_ratio.value),
        (f"{prefix}_throughput_ratio", comparison.throughput_ratio.value),
        (f"{prefix}_verdict", verdict.outcome or "no gate"),
    ]
