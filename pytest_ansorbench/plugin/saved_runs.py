"""Runs of cases from saved results: no search, and no tuner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_ansorbench.bench import MissingRunsError, Plan, Progress, Replay
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.plugin.refusals import failure, in_options
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.workloads import Case


class SavedRuns:
    """Saved results, judged again: what a session asks for runs with `--ansor-replay`.

    Strategies are names here, none has to be offered.
    """

    def __init__(self, settings: Settings) -> None:
        """Read the files.

        Raises:
            StorageError: A file is not there or not whole.
        """
        self._replay = Replay(settings.replay, settings.to_json())

    @property
    def looks(self) -> Looks | None:
        """As the saved session looked, whatever this one's settings are."""
        return self._replay.looks

    def arms(self, settings: Settings, case: str | None, is_chosen: bool) -> tuple[str, ...]:
        """The strategies of a test, the reference first, the control left out."""
        if is_chosen or case is None:
            return settings.strategies
        try:
            return self._replay.strategies(case)
        except MissingRunsError:
            return settings.strategies  # its test will say so

    def planned(self, test: Collected) -> tuple[Sequence[int], bool]:
        """The seeds of a test's repeats, and whether these can be judged apart."""
        try:
            return self._replay.seeds(test.case or ""), self._replay.looks is None
        except MissingRunsError:
            return (test.settings.experiment.seed,), False  # its test will say so

    def run(self, test: Collected, case: Case, plan: Plan, progress: Progress) -> CaseResult:
        __tracebackhide__ = True
        try:
            return self._replay.run(case.id, test.arms, plan, test.seeds)
        except MissingRunsError as error:
            raise failure(in_options(error)) from None

    def judged(self, test: Collected, plan: Plan) -> CaseResult | None:
        """A case that another process of pytest-xdist was given; None if there are no runs."""
        try:
            return self._replay.judged(test.label, test.arms, plan, test.seeds)
        except MissingRunsError:
            return None

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        """There are no more than there are."""
        return False

    def result(self) -> Result:
        return self._replay.result()

    def hand_over(self) -> Handed:
        """Verdicts alone: the process that reports has the same runs."""
        results = self._replay.results
        return Handed(
            results=tuple(replace(result, runs=()) for result in results),
            seeds=tuple(
                tuple(dict.fromkeys(run.seed for run in result.runs)) for result in results
            ),
        )

    def take_over(self, handed: Handed) -> None:
        self._replay.adopt(handed.results, handed.seeds)
