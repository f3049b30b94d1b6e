"""All cases of a session together: their verdict, their changes, and the cases that were lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.baseline import Baseline
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.records import CaseResult, Gate, SuiteVerdict
from pytest_ansorbench.stats.changes import CaseChanges
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.suite import judge_suites, suite_gates
from pytest_ansorbench.storage import suite_changes_since


class Suite:
    """What a session's cases come to, judged when it is asked for."""

    def __init__(self, settings: Settings, looks: Looks | None, baseline: Baseline | None) -> None:
        """Prepare; `looks` says after how many repeats cases are judged together."""
        self._settings, self._baseline = settings, baseline
        self._criteria = replace(settings.criteria, looks=looks)
        self._lost: dict[str, None] = {}
        self.family = 1  # over how many gates of suites false alarms could be shared out
        self.verdicts: tuple[SuiteVerdict, ...] | None = None  # None before they are asked for
        self.changes: tuple[CaseChanges, ...] = ()

    def count_gates(self, arms: Iterable[Sequence[str]]) -> int:
        """How many gates there are on tests with these arms, the reference first."""
        settings = self._settings
        return suite_gates(arms, (*settings.suite_limits, *settings.baseline.suite_allowances))

    @property
    def lost(self) -> tuple[str, ...]:
        """Cases that there is no result of."""
        return tuple(self._lost)

    def lose(self, case: str) -> None:
        self._lost[case] = None

    def judge(self, results: Sequence[CaseResult]) -> tuple[SuiteVerdict, ...]:
        """Judge what there is, and keep the verdicts."""
        limits = self._settings.suite_limits
        self.verdicts = judge_suites(
            results, self._criteria, limits, family=self.family, lost=self.lost
        )
        if self._baseline is not None:
            self.changes = suite_changes_since(
                self._baseline.result,
                results,
                self._settings.baseline.suite_allowances,
                criteria=self._criteria,
                family=self.family,
                gone=self.lost,
            )
        return self.verdicts

    @property
    def gates(self) -> tuple[Gate, ...]:
        """All gates as last judged, those on changes included."""
        of_verdicts = (gate for verdict in self.verdicts or () for gate in verdict.gates)
        return (*of_verdicts, *(gate for changes in self.changes for gate in changes.gates))

    def adopt(self, handed: Handed) -> None:
        """Take over what a process of pytest-xdist found."""
        self._lost |= dict.fromkeys(handed.lost)
        self.verdicts = handed.suites or self.verdicts
        self.changes = handed.suite_changes or self.changes
