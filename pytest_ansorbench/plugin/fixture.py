"""The `ansor_bench` fixture: runs one case for one test, and passes or fails it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pytest_ansorbench.plugin.live import LiveBench
    from pytest_ansorbench.records import CaseResult, Verdict
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

    def __init__(self, bench: LiveBench, item: pytest.Item) -> None:
        self._bench = bench
        self._item = item
        self._used = False

    def __call__(self, case: Case | str) -> CaseResult:
        """Tune, compare, judge; see `AnsorBench`."""
        from pytest_ansorbench.measure import WorkerError
        from pytest_ansorbench.workloads import Case, UnknownCase, get

        __tracebackhide__ = True
        if self._used:
            pytest.fail("ansor_bench was called twice; a test tunes one case", pytrace=False)
        self._used = True
        if isinstance(case, str):
            try:
                case = get(case)
            except UnknownCase as error:
                pytest.fail(str(error), pytrace=False)
        if not isinstance(case, Case):
            pytest.fail(
                f"bad case {case!r}: expected a case or the id of one, e.g. workloads.CONV2D[0]",
                pytrace=False,
            )
        try:
            result = self._bench.run(self._item, case)
        except WorkerError as error:
            pytest.fail(f"the measurement engine gave up: {error}", pytrace=False)
        self._judge(result)
        return result

    def _judge(self, result: CaseResult) -> None:
        __tracebackhide__ = True
        settings = self._bench.settings_of(self._item)
        for verdict in result.verdicts:
            self._item.user_properties += _properties(verdict)
        gated = settings.max_search_ratio is not None or settings.min_throughput_ratio is not None
        if gated and not result.verdicts:
            pytest.fail(
                f"nothing to compare: --ansor-strategy {','.join(settings.strategies)} names "
                "no candidate, but a gate is set; name two, e.g. default,etc",
                pytrace=False,
            )
        complaints = {outcome: _complaints(result, outcome) for outcome in ("broken", "undecided")}
        if settings.strict:
            complaints["broken"] += complaints.pop("undecided")
        if complaints["broken"]:
            from pytest_ansorbench.report import render_table

            message = "\n".join([*complaints["broken"], "", render_table([result])])
            pytest.fail(message, pytrace=False)
        for complaint in complaints.get("undecided", ()):
            warnings.warn(UndecidedWarning(complaint), stacklevel=3)


def _complaints(result: CaseResult, outcome: str) -> list[str]:
    """A sentence for each gate of this outcome."""
    return [
        f"{result.case}, {verdict.comparison.candidate.strategy} against "
        f"{verdict.comparison.reference.strategy}: {gate.message}"
        for verdict in result.verdicts
        for gate in verdict.gates
        if gate.outcome == outcome
    ]


def _properties(verdict: Verdict) -> list[tuple[str, object]]:
    """Figures for JUnit XML and whoever else reads a test report's properties."""
    comparison = verdict.comparison
    prefix = f"ansor_{comparison.candidate.strategy}"
    return [
        (f"{prefix}_search_ratio", comparison.search_ratio.value),
        (f"{prefix}_throughput_ratio", comparison.throughput_ratio.value),
        (f"{prefix}_verdict", verdict.outcome or "no gate"),
    ]
