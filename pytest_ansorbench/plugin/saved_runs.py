"""Runs of cases from saved results: no search, and no tuner."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_ansorbench.bench import Plan, Progress
from pytest_ansorbench.options.declarations import flag_of
from pytest_ansorbench.options.settings import Settings
from pytest_ansorbench.plugin.collected import Collected
from pytest_ansorbench.plugin.refusals import failure
from pytest_ansorbench.plugin.workers import Handed
from pytest_ansorbench.records import SCHEMA_VERSION, CaseResult, Result
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.suite import own_arms
from pytest_ansorbench.storage import merge_results, read_result
from pytest_ansorbench.workloads import Case


class _MissingRuns(Exception):
    """What was asked for is not in the saved results; the message says what is."""


class SavedRuns:
    """Saved results, judged again: what a session asks for runs with `--ansor-replay`.

    Strategies are names here, none has to be offered.
    """

    is_whole: Final = True  # no test can be cut short

    def __init__(self, settings: Settings, notes: list[str]) -> None:
        """Read the files. `notes` are the lines at the session's end.

        Raises:
            StorageError: A file is not there or not whole.
        """
        self._saved = merge_results({str(path): _unjudged(path) for path in settings.replay})
        if (shards := self._saved.shards) is not None:
            notes.append(
                f"{flag_of('replay')}: missing shards {', '.join(map(str, shards.missing))}"
            )
        self._settings = settings.to_json()
        self._results: list[CaseResult] = []
        self._given: set[int] = set()  # by `id`, what tests have of the saved cases

    @property
    def looks(self) -> Looks | None:
        """As the saved session looked, whatever this one's settings are; None for once."""
        return Criteria.from_settings(self._saved.settings).looks

    @property
    def ran_under(self) -> Mapping[str, Any]:
        """The settings of the saved session, as recorded."""
        return self._saved.settings

    def arms(self, settings: Settings, case: str | None, is_chosen: bool) -> tuple[str, ...]:
        """The strategies of a test, the reference first, the control left out."""
        if is_chosen or case is None:
            return settings.strategies
        try:
            saved = self._of(case, (), self._given)
        except _MissingRuns:
            return settings.strategies  # its test will say so
        return tuple(name for name in saved.strategies if name != saved.control)

    def planned(self, test: Collected) -> tuple[Sequence[int], bool]:
        """The seeds of a test's repeats, and whether these can be judged apart."""
        try:
            return _seeds(self._of(test.case or "", test.arms)), self.looks is None
        except _MissingRuns:
            return (test.settings.experiment.seed,), False  # its test will say so

    def run(self, test: Collected, case: Case, plan: Plan, progress: Progress) -> CaseResult:
        __tracebackhide__ = True
        try:
            saved = self._of(case.id, test.arms, self._given)
            result = self._judge(saved, test.arms, plan, test.seeds)
        except _MissingRuns as error:
            raise failure(f"bad {flag_of('replay')}: {error}") from None
        self._given.add(id(saved))
        self._results.append(result)
        return result

    def judged(self, test: Collected, plan: Plan) -> CaseResult | None:
        """A case that another process of pytest-xdist was given; None if there are no runs."""
        try:
            saved = self._of(test.label, test.arms, self._given)
            return self._judge(saved, test.arms, plan, test.seeds)
        except _MissingRuns:
            return None

    def _judge(
        self, saved: CaseResult, arms: Sequence[str], plan: Plan, seeds: Sequence[int] | None
    ) -> CaseResult:
        """Judge a case's saved runs.

        Budget and repeats are those that were run; the plan's criteria and limits count.
        """
        for name in arms:
            if name not in saved.strategies:
                raise _MissingRuns(
                    f"no saved runs of the strategy {name!r} on {saved.case}; there "
                    f"are those of {', '.join(saved.strategies)}"
                )
        control = saved.control if arms[0] == saved.strategies[0] else None
        arms = tuple(dict.fromkeys([*arms, *([control] if control else [])]))
        runs = tuple(
            run
            for run in saved.runs
            if run.strategy in arms and (seeds is None or run.seed in seeds)
        )
        # A session that stopped by what it saw has to be judged as one that looked.
        criteria = plan.criteria.looked_at(saved.looks)
        verdicts = judge_arms(
            arms, runs, criteria, plan.limits, control=control, family=plan.family
        )
        return replace(saved, strategies=arms, runs=runs, verdicts=verdicts, control=control)

    def more(self, repeats: int, deadline_s: float, progress: Progress) -> bool:
        """There are no more than there are."""
        return False

    def result(self) -> Result:
        saved = self._saved
        return Result(
            schema_version=SCHEMA_VERSION,
            created=saved.created,
            machines=saved.machines,
            commit=saved.commit,
            settings=self._settings,
            cases=tuple(self._results),
            noise=saved.noise,
            shards=saved.shards,
        )

    def hand_over(self) -> Handed:
        """Verdicts alone: the process that reports has the same runs."""
        return Handed(
            results=tuple(replace(result, runs=()) for result in self._results),
            seeds=tuple(_seeds(result) for result in self._results),
        )

    def take_over(self, handed: Handed) -> Sequence[str]:
        """Add what another process made of the same files; sorts by the files' order."""
        given: set[int] = set()
        for result, seeds in zip(handed.results, handed.seeds, strict=True):
            saved = self._of(result.case, own_arms(result), given)
            given.add(id(saved))
            runs = tuple(
                run for run in saved.runs if run.strategy in result.strategies and run.seed in seeds
            )
            self._results.append(replace(result, runs=runs))
        order = [saved.case for saved in self._saved.cases]
        self._results.sort(key=lambda result: order.index(result.case))
        return ()

    def leave_open(self) -> None:
        """There is no journal."""

    def _of(self, case: str, arms: Sequence[str], given: Collection[int] = ()) -> CaseResult:
        """What was saved of a case: if twice, what has all arms, then what no test was given."""
        found = [saved for saved in self._saved.cases if saved.case == case]
        if found:
            return min(
                found,
                key=lambda saved: (
                    not {*arms} <= {*saved.strategies},
                    id(saved) in given,
                    own_arms(saved) != tuple(arms),
                ),
            )
        known = ", ".join(result.case for result in self._saved.cases[:3])
        raise _MissingRuns(
            f"no saved runs of the case {case!r}; there are those of {known}"
            f"{' and others' if len(self._saved.cases) > 3 else ''}"
        )


def _unjudged(path: Path) -> Result:
    """A saved result without its verdicts, whose limits matter no more and may differ."""
    result = read_result(path)
    return replace(result, cases=tuple(replace(case, verdicts=()) for case in result.cases))


def _seeds(result: CaseResult) -> tuple[int, ...]:
    """Its repeats, in order."""
    return tuple(dict.fromkeys(run.seed for run in result.runs))
