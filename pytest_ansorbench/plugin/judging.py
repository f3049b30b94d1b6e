"""What verdicts mean for a test: it passes, warns or fails."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_ansorbench.plugin.baseline import ANY_MACHINE
from pytest_ansorbench.plugin.fixture import UndecidedWarning
from pytest_ansorbench.plugin.refusals import cure, failure
from pytest_ansorbench.records import CaseResult, Estimate, SuiteVerdict, Verdict
from pytest_ansorbench.report.failures import failures_sentence
from pytest_ansorbench.report.gates import change_sentence, gate_sentence, suite_sentence
from pytest_ansorbench.report.render.terminal import Terminal
from pytest_ansorbench.report.wording import estimate_text
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.failures import ArmFailures
from pytest_ansorbench.stats.limits import Allowance
from pytest_ansorbench.workloads import Case, UnknownCase, get
from pytest_ansorbench.workloads.case import is_case

Judgement = tuple[str | None, str]
"""The outcome of a gate, and the sentence on it."""


class OneCase:
    """The fixture's value: one test tunes one case."""

    def __init__(self, item: pytest.Item, tune: Callable[[pytest.Item, Case], CaseResult]) -> None:
        self._item = item
        self._tune = tune
        self._used = False

    def __call__(self, case: Case | str) -> CaseResult:
        """Tune, compare, judge; see `AnsorBench`."""
        __tracebackhide__ = True
        if self._used:
            pytest.fail("ansor_bench was called twice; a test tunes one case", pytrace=False)
        if isinstance(case, str):
            try:
                case = get(case)
            except UnknownCase as error:
                raise failure(str(error)) from None
        if not is_case(case):
            pytest.fail(
                f"bad case {case!r}: expected a case or the id of one, e.g. workloads.CONV2D[0]",
                pytrace=False,
            )
        self._used = True
        return self._tune(self._item, case)


class LastTest(pytest.Item):
    """A test of the plugin's own, collected last: it judges all cases together."""

    def __init__(self, *, judge: Callable[[pytest.Item], None], **keywords: Any) -> None:
        super().__init__(**keywords)
        self._judge = judge

    @classmethod
    def of(
        cls, session: pytest.Session, name: str, judge: Callable[[pytest.Item], None]
    ) -> LastTest:
        """The test as `--lf`, JUnit XML and reports call it: `ansor-bench::NAME`."""
        item: LastTest = cls.from_parent(
            session, name=name, nodeid=f"ansor-bench::{name}", judge=judge
        )
        return item

    def runtest(self) -> None:
        __tracebackhide__ = True
        lf = self.config.getoption("lf", False)
        if lf and self.nodeid in self.config.cache.get("cache/lastfailed", {}):
            pytest.fail(
                "all cases are judged together, and --lf leaves those out that passed; run it "
                "without --lf",
                pytrace=False,
            )
        self._judge(self)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.nodeid


def put_last(items: list[pytest.Item]) -> None:
    """Have the plugin's own tests run after all others, which --ff and others would change."""
    items.sort(key=lambda item: isinstance(item, LastTest))


def note_rerun(item: pytest.Item, notes: list[str]) -> None:
    """Say at the session's end that a test was judged once, however often it was run."""
    note = f"{item.nodeid}: run again, but judged once: a gate gets no second chance"
    if note not in notes:
        notes.append(note)


def settle(
    judgements: Iterable[Judgement], *, strict: bool, tables: Callable[[], str] | None = None
) -> None:
    """Fail the test that runs if a gate is broken, and warn if one is undecided.

    Args:
        judgements: Of all gates.
        strict: Whether an undecided gate fails the test as well.
        tables: What is shown below the sentences of a failure.
    """
    __tracebackhide__ = True
    found: dict[str | None, list[str]] = {"broken": [], "undecided": []}
    for outcome, sentence in judgements:
        if outcome in found:
            found[outcome].append(Terminal().line(sentence))  # it names cases, which may be odd
    if strict:
        found["broken"] += found.pop("undecided")
    if found["broken"]:
        below = () if tables is None else ("", tables())
        pytest.fail("\n".join([*found["broken"], *below]), pytrace=False)
    for sentence in found.get("undecided", ()):
        # The line that called the fixture, three frames up.
        warnings.warn(UndecidedWarning(sentence), stacklevel=4)


def of_failures(
    case: str, found: Iterable[ArmFailures], settings: Mapping[str, Any]
) -> Iterator[Judgement]:
    """On what of a case cannot be judged, gates or not; settings are as recorded."""
    for failures in found:
        if failures.is_complete:
            sentence = f"{case}: {failures_sentence(failures)}"
            cures = dict.fromkeys(cure(cause, settings) for cause in failures.causes)
            yield "broken", "; ".join([sentence, *filter(None, cures)])


def of_case(
    result: CaseResult, changes: CaseChanges | None, allowances: Sequence[Allowance]
) -> Iterator[Judgement]:
    """On the verdicts of a case, and on its changes since an earlier result."""
    for verdict in result.verdicts:
        arms = verdict.comparison
        start = f"{result.case}, {arms.challenger.strategy} against {arms.reference.strategy}: "
        for gate in verdict.gates:
            yield gate.outcome, start + Terminal().line(gate_sentence(gate))
    if changes is not None:
        yield from _of_changes(changes)
        if changes.incomparable and allowances:
            reason = changes.incomparable
            yield "undecided", f"{result.case}: not compared with the earlier result: {reason}"


def of_suites(
    verdicts: Iterable[SuiteVerdict], changes: Iterable[CaseChanges]
) -> Iterator[Judgement]:
    """The same on all cases together."""
    for verdict in verdicts:
        for gate in verdict.gates:
            yield gate.outcome, Terminal().line(suite_sentence(verdict, gate))
    for one in changes:
        yield from _of_changes(one)


def _of_changes(changes: CaseChanges) -> Iterator[Judgement]:
    for change in changes.changes:
        if change.gate is not None:
            sentence = Terminal().line(change_sentence(change, ANY_MACHINE))
            start = f"{change.case}, {change.strategy} against the earlier result: "
            yield change.gate.outcome, start + sentence


def case_properties(verdict: Verdict) -> list[tuple[str, object]]:
    """Figures for JUnit XML and other readers of a test report's properties."""
    name, found = verdict.comparison.challenger.strategy, verdict.comparison
    return _properties(name, found.search_ratio, found.throughput_ratio, verdict.outcome)


def suite_properties(verdict: SuiteVerdict) -> list[tuple[str, object]]:
    """The same of all cases together."""
    group = f"_{verdict.group}" if verdict.group else ""
    search, throughput = map(verdict.figure, ("search_ratio", "throughput_ratio"))
    name = f"suite{group}_{verdict.challenger}"
    return _properties(name, search.estimate, throughput.estimate, verdict.outcome)


def _properties(
    name: str, search: Estimate, throughput: Estimate, outcome: str | None
) -> list[tuple[str, object]]:
    name = Terminal().line(f"ansor_{name}")  # pytest escapes values alone
    return [
        (f"{name}_search_ratio", property_of(search)),
        (f"{name}_throughput_ratio", property_of(throughput)),
        (f"{name}_verdict", outcome or "no gate"),
    ]


def property_of(ratio: Estimate) -> float | str:
    """A ratio as a number; a bound, or one that is undefined, as tables have it."""
    return ratio.value if ratio.bound == "value" else estimate_text(ratio)
