"""From all runs of a case to its result: every challenger compared and held against the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_ansorbench.records import CaseResult, Comparison, Estimate, Gate, Result, Run, Verdict
from pytest_ansorbench.stats.compare import compare, race_of
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.evidence import limit_evidence
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.race import Race


def judge_arms(
    strategies: Sequence[str],
    runs: Sequence[Run],
    *,
    criteria: Criteria,
    limits: Limits,
    control: str | None = None,
    family: int = 1,
) -> tuple[Verdict, ...]:
    """Compare every challenger with the reference and judge.

    Args:
        strategies: Names of the arms, the reference first.
        runs: Runs of all arms; none at all gives no verdicts.
        criteria: How to compare and judge.
        limits: The gates.
        control: The arm that is the reference over again, to which no limits apply.
        family: How many gates the session has, these included.

    Returns:
        One verdict per challenger, in order of `strategies`.

    Raises:
        PairingError: The arms' runs do not pair up.
    """
    by_strategy = {name: [run for run in runs if run.strategy == name] for name in strategies}
    reference, *challengers = strategies
    judge = Judge(criteria, family)
    verdicts = []
    for challenger in challengers if runs else ():
        race = race_of(by_strategy[reference], by_strategy[challenger], criteria)
        comparison = compare(race, criteria.confidence)
        gates = () if challenger == control else _gates(race, comparison, limits, judge)
        verdicts.append(Verdict(comparison, gates))
    return tuple(verdicts)


def _gates(race: Race, comparison: Comparison, limits: Limits, judge: Judge) -> tuple[Gate, ...]:
    """One gate per limit that is set; one that had nothing to compare is broken."""
    gates = []
    for key, limit in limits.items():
        figure = FIGURES[key]
        estimate = _estimate(figure, race, comparison, judge)
        evidence = limit_evidence(figure, race, estimate, judge.criteria.confidence)
        gates.append(judge.gate(figure, evidence, limit))
    return tuple(gates)


def _estimate(figure: Figure, race: Race, comparison: Comparison, judge: Judge) -> Estimate:
    """The figure, from the comparison if it has it: no estimate is computed twice."""
    found: Estimate | None = getattr(comparison, figure.key, None)
    if found is not None:
        return found
    assert figure.limit is not None, figure.key
    return figure.limit.estimate(race, judge.criteria.confidence)


def judge_result(result: Result) -> tuple[list[CaseResult], Criteria]:
    """Judge recorded runs by today's statistics, against the limits they were held to then.

    Verdicts in a file are a convenience for other readers; the runs are the truth.

    Args:
        result: A result as recorded, with the criteria to judge by in its settings.

    Returns:
        Its cases with verdicts on the same runs, and the criteria.

    Raises:
        PairingError: The arms' runs of a case do not pair up.
        ValueError: A recorded limit or criterion is none.
    """
    criteria = Criteria.from_settings(result.settings)
    family = sum(len(verdict.gates) for case in result.cases for verdict in case.verdicts)
    cases = [
        replace(
            case,
            verdicts=judge_arms(
                case.strategies,
                case.runs,
                criteria=criteria,
                limits=recorded_limits(case),
                control=case.control,
                family=family,
            ),
        )
        for case in result.cases
    ]
    return cases, criteria


def recorded_limits(result: CaseResult) -> Limits:
    """The limits that a recorded case was held to.

    Raises:
        ValueError: A recorded limit is none.
    """
    return Limits(
        {gate.metric: gate.limit for verdict in result.verdicts for gate in verdict.gates}
    )
