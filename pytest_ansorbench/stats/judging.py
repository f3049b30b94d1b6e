"""From runs to verdicts: every challenger compared with its reference and held to the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pytest_ansorbench.records import (
    CaseResult,
    Comparison,
    Gate,
    MachineNoise,
    Result,
    Run,
    SuiteVerdict,
    Verdict,
)
from pytest_ansorbench.stats.compare import compare
from pytest_ansorbench.stats.criteria import Criteria, recorded_number
from pytest_ansorbench.stats.evidence import Evidence, limit_evidence
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge, families, settled_gate
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.paired_runs import PairedRuns, check_case_pairs, pair_runs
from pytest_ansorbench.stats.suite import judge_suites, own_arms, suite_gates


def judge_arms(
    strategies: Sequence[str],
    runs: Sequence[Run],
    criteria: Criteria,
    limits: Limits,
    *,
    control: str | None = None,
    family: int = 1,
) -> tuple[Verdict, ...]:
    """Compare every challenger with the reference and judge; runs on landscapes gate nothing."""
    by_strategy = {name: [run for run in runs if run.strategy == name] for name in strategies}
    reference, *challengers = strategies
    judge = Judge(criteria, family)
    ungated = {control} if not any(run.landscape for run in runs) else {*challengers}
    verdicts = []
    for challenger in challengers if runs else ():
        paired = pair_runs(by_strategy[reference], by_strategy[challenger], criteria)
        comparison = compare(paired, judge.at(len(paired.reference)).criteria.confidence)
        gates = () if challenger in ungated else _gates(paired, comparison, limits, judge)
        verdicts.append(Verdict(comparison, gates))
    return tuple(verdicts)


def _gates(
    paired: PairedRuns, comparison: Comparison, limits: Limits, judge: Judge
) -> tuple[Gate, ...]:
    """One gate per limit that is set; one that had nothing to compare is broken."""
    repeats = len(paired.reference)

    def gate(figure: Figure, limit: float) -> Gate:
        def evidence_at(look: int, confidence: float) -> Evidence:
            seen = paired.first(look)
            # That of all repeats is known already, if the comparison has it.
            known = getattr(comparison, figure.key, None) if look == repeats else None
            estimate = known or figure.limited().estimate(seen, confidence)
            return limit_evidence(figure, seen, estimate, confidence)

        return settled_gate(figure, limit, judge, evidence_at, repeats=repeats)

    return tuple(gate(FIGURES[key], limit) for key, limit in limits.items())


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """A result, judged."""

    cases: tuple[CaseResult, ...]
    suites: tuple[SuiteVerdict, ...]
    criteria: Criteria
    noise: tuple[MachineNoise, ...]
    machines: Mapping[str, Any]
    missed: tuple[str, ...] = ()  # lost cases of a suite with limits, if that has no gate


def judge_result(result: Result) -> JudgedResult:
    """Judge recorded runs by today's statistics, against the limits they were held to then.

    Verdicts in a file are a convenience for other readers; the runs are the truth. But how many
    gates shared the false alarms, some of them of cases that were not run, only the gates tell.
    """
    criteria = Criteria.from_settings(result.settings)
    limits = suite_limits(result.settings)
    family, suite_family = families(
        sum(len(case.gates) for case in result.cases),
        suite_gates((own_arms(case) for case in result.cases), limits),
    )
    family = max([family, *(gate.family for case in result.cases for gate in case.gates)])
    suite_family = max(
        [suite_family, *(gate.family for one in result.suites for gate in one.gates)]
    )

    def judged(case: CaseResult) -> CaseResult:
        own, held_to = criteria.looked_at(case.looks), recorded_limits(case)
        verdicts = judge_arms(
            case.strategies, case.runs, own, held_to, control=case.control, family=family
        )
        return replace(case, verdicts=verdicts)

    cases = tuple(map(judged, result.cases))
    suites = judge_suites(cases, criteria, limits, family=suite_family, lost=result.lost)
    missed = result.lost if limits and not any(one.gates for one in suites) else ()
    return JudgedResult(cases, suites, criteria, result.noise, result.machines, missed)


def faults_of(result: Result) -> Iterator[str]:
    """Why a result cannot be judged, as far as that shows before it is."""
    checks: list[Callable[[], object]] = [
        partial(Criteria.from_settings, result.settings),
        partial(suite_limits, result.settings),
    ]
    for case in result.cases:
        checks += [
            partial(Criteria().looked_at, case.looks),
            partial(recorded_limits, case),
            partial(check_case_pairs, case),
        ]
    for check in checks:
        try:
            check()
        except (ValueError, ArithmeticError) as error:
            yield str(error)


def recorded_limits(result: CaseResult) -> Limits:
    return Limits({gate.metric: gate.limit for gate in result.gates})


def suite_limits(settings: Mapping[str, Any]) -> Limits:
    given = {}
    for figure in FIGURES.values():
        if figure.suite_keyword and settings.get(figure.suite_keyword) is not None:
            given[figure.key] = recorded_number(settings, figure.suite_keyword)
    return Limits(given)
