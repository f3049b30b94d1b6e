"""Runs from saved results in place of searches: same tables, same verdicts, no tuner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_ansorbench.bench.repeats import Plan
from pytest_ansorbench.records import SCHEMA_VERSION, CaseResult, MachineNoise, Result
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.storage import merge_results, read_result


class MissingRunsError(ValueError):
    """What was asked for is not in the saved results; the message says what is."""


class Replay:
    """Saved results, asked for cases as a session is."""

    def __init__(self, paths: Sequence[Path], settings: Mapping[str, Any]) -> None:
        self._saved = merge_results({str(path): read_result(path) for path in paths})
        self._settings = settings
        self._results: list[CaseResult] = []

    @property
    def results(self) -> tuple[CaseResult, ...]:
        return tuple(self._results)

    def strategies(self, case: str) -> tuple[str, ...]:
        """The arms of a saved case, the reference first, the control left out."""
        saved = self.saved(case)
        return tuple(name for name in saved.strategies if name != saved.control)

    def saved(self, case: str) -> CaseResult:
        for result in self._saved.cases:
            if result.case == case:
                return result
        known = ", ".join(result.case for result in self._saved.cases[:3])
        raise MissingRunsError(
            f"no saved runs of the case {case!r}; there are those of {known}"
            f"{' and others' if len(self._saved.cases) > 3 else ''}"
        )

    def seeds(self, case: str) -> tuple[int, ...]:
        """The saved repeats of a case, in order."""
        return tuple(dict.fromkeys(run.seed for run in self.saved(case).runs))

    def run(
        self, case: str, strategies: Sequence[str], plan: Plan, seeds: Sequence[int] | None = None
    ) -> CaseResult:
        result = self.judged(case, strategies, plan, seeds)
        self._results.append(result)
        return result

    def judged(
        self, case: str, strategies: Sequence[str], plan: Plan, seeds: Sequence[int] | None = None
    ) -> CaseResult:
        """Judge a case's saved runs.

        Budget and repeats are those that were run; the plan's criteria and limits count.
        """
        saved = self.saved(case)
        for name in strategies:
            if name not in saved.strategies:
                raise MissingRunsError(
                    f"no saved runs of the strategy {name!r} on {case}; there "
                    f"are those of {', '.join(saved.strategies)}"
                )
        control = saved.control if strategies[0] == saved.strategies[0] else None
        arms = tuple(dict.fromkeys([*strategies, *([control] if control else [])]))
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

    def adopt(self, judged: Sequence[CaseResult], seeds: Sequence[Sequence[int]]) -> None:
        """Take over what another process made of the same files; sorts by the files' order."""
        order = [saved.case for saved in self._saved.cases]
        for result, taken in zip(judged, seeds, strict=True):
            saved = self.saved(result.case)
            runs = tuple(
                run for run in saved.runs if run.strategy in result.strategies and run.seed in taken
            )
            self._results.append(replace(result, runs=runs))
        self._results.sort(key=lambda result: order.index(result.case))

    @property
    def looks(self) -> Looks | None:
        """After how many repeats the saved cases were judged together; None for once."""
        return Criteria.from_settings(self._saved.settings).looks

    @property
    def machines(self) -> Mapping[str, Any]:
        """By fingerprint, the machines that the runs were measured on."""
        return self._saved.machines

    @property
    def noise(self) -> tuple[MachineNoise, ...]:
        """How steady these machines were, in order of time."""
        return self._saved.noise

    def result(self) -> Result:
        return Result(
            schema_version=SCHEMA_VERSION,
            created=self._saved.created,
            machines=self._saved.machines,
            commit=self._saved.commit,
            settings=self._settings,
            cases=self.results,
            noise=self.noise,
        )
