"""From all runs of a case to its result: every challenger compared and held against the limits."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import Comparison, Estimate, Gate, Run, Verdict
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
        family: Over how many gates like these the session's false alarms could be shared out.

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
