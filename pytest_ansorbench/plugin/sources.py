"""Where the runs of a case come from: what a session asks of searches and of saved results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from pytest_ansorbench.bench import MissingRunsError, Plan, Progress, Replay
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.plugin.refusals import failure, in_options
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.records import CaseResult, Result
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.workloads import Case


class Source(Protocol):
    """Gives a case's runs, judged.

    A source is registered as a plugin: what it has to do at other moments of a session is in
    hooks of pytest's.
    """

    @property
    def looks(self) -> Looks | None:
        """After how many repeats cases are judged together; None for once."""
        ...

    def arms(self, settings: Settings, case: str | None, is_given: bool) -> tuple[str, ...]:
        """The strategies of a test, the reference first, no control among them.

        Args:
            settings: The test's settings.
            case: Id of the test's case, if it can be told before it runs.
            is_given: Whether strategies were chosen for the test.

        Raises:
            pytest.UsageError: A strategy is not there.
        """
        ...

    def planned(self, test: Collected) -> tuple[Sequence[int], bool]:
        """The seeds of a test's repeats, as far as they can be told before it runs.

        With them, whether they can be run apart from each other.
        """
        ...

    def run(self, test: Collected, case: Case, plan: Plan, progress: Progress) -> CaseResult:
        """Run a case, or find its runs; a failure fails the test."""
        ...

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        """Run cases until each has a number of repeats; whether each has as many.

        They have to be over by the deadline, by `time.monotonic`. A failure fails the test.
        """
        ...

    def result(self) -> Result:
        """Everything so far."""
        ...

    def hand_over(self) -> Handed:
        """What the process that reports has to know, from one of several that run tests."""
        ...

    def take_over(self, handed: Handed) -> None:
        """Take what another process has handed over."""
        ...


class SavedRuns:
    """Saved results, judged again; strategies are names here, none has to be offered."""

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

    def arms(self, settings: Settings, case: str | None, is_given: bool) -> tuple[str, ...]:
        if is_given or case is None:
            return settings.strategies
        try:
            return self._replay.strategies(case)
        except MissingRunsError:
            return settings.strategies  # its test will say so

    def planned(self, test: Collected) -> tuple[Sequence[int], bool]:
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
