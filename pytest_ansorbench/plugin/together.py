"""All cases of a session together: their verdict, their changes, and the cases that were lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ansorbench.stats.suite import judge_suites, suite_gates

if TYPE_CHECKING:
    from pytest_ansorbench.options.settings import Settings
    from pytest_ansorbench.plugin.baseline import Baseline
    from pytest_ansorbench.plugin.sources import Source
    from pytest_ansorbench.plugin.workers import Handed
    from pytest_ansorbench.records import CaseResult, Gate, SuiteVerdict
    from pytest_ansorbench.stats.changes import CaseChanges


class Together:
    """What a session's cases come to as a suite, judged when it is asked for.

    Attributes:
        family: Over how many gates of suites the session's false alarms could be shared out.
        changes: How all cases changed since the earlier result, as `judge` left it.
    """

    def __init__(self, settings: Settings, source: Source, baseline: Baseline | None) -> None:
        self._settings, self._source, self._baseline = settings, source, baseline
        self._lost: dict[str, None] = {}
        self._verdicts: tuple[SuiteVerdict, ...] | None = None
        self.family = 1
        self.changes: tuple[CaseChanges, ...] = ()

    def count_gates(self, arms: Iterable[Sequence[str]]) -> int:
        """How many gates there are on all cases together.

        Args:
            arms: The strategies of each test, the reference first, controls left out.
        """
        settings = self._settings
        return suite_gates(arms, (*settings.suite_limits, *settings.baseline.suite_allowances))

    @property
    def lost(self) -> tuple[str, ...]:
        """Cases that there is no result of."""
        return tuple(self._lost)

    def lose(self, case: str) -> None:
        """Remember a case that there is no result of."""
        self._lost[case] = None

    def judge(self, results: Sequence[CaseResult]) -> tuple[SuiteVerdict, ...]:
        """Judge what there is, and keep the verdicts."""
        settings = self._settings
        criteria = replace(settings.criteria, looks=self._source.looks(settings))
        self._verdicts = judge_suites(
            results, criteria, settings.suite_limits, family=self.family, lost=self.lost
        )
        if self._baseline is not None:
            self.changes = self._baseline.suite_changes(results, settings, criteria, self.family)
        return self._verdicts

    @property
    def verdicts(self) -> tuple[SuiteVerdict, ...]:
        """As last judged, else of the results so far."""
        return self.judge(self._source.results) if self._verdicts is None else self._verdicts

    @property
    def gates(self) -> tuple[Gate, ...]:
        """All gates of the suite, those on its changes included."""
        of_verdicts = (gate for verdict in self.verdicts for gate in verdict.gates)
        return (*of_verdicts, *(gate for changes in self.changes for gate in changes.gates))

    def adopt(self, handed: Handed) -> None:
        """Take over what a process of pytest-xdist found."""
        self._lost |= dict.fromkeys(handed.lost)
        self._verdicts = handed.suites or self._verdicts
        self.changes = handed.suite_changes or self.changes

    def judged(self) -> tuple[SuiteVerdict, ...]:
        """The verdicts, if they were asked for."""
        return self._verdicts or ()
