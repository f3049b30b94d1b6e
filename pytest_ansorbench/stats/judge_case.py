"""From all runs of a case to its result: every challenger compared and held against the limits."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import Comparison, Gate, Run, Verdict
from pytest_ansorbench.stats.compare import compare, pair_runs
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.evidence import Evidence, limit_evidence
from pytest_ansorbench.stats.figures import FIGURES, Figure
from pytest_ansorbench.stats.gate import Judge
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.settle import settled_gate


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
        paired = pair_runs(by_strategy[reference], by_strategy[challenger], criteria)
        comparison = compare(paired, judge.at(len(paired.reference)).criteria.confidence)
        gates = () if challenger == control else _gates(paired, comparison, limits, judge)
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
            assert figure.limit is not None, figure.key
            estimate = known or figure.limit.estimate(seen, confidence)
            return limit_evidence(figure, seen, estimate, confidence)

        return settled_gate(figure, limit, judge, evidence_at, repeats=repeats)

    return tuple(gate(FIGURES[key], limit) for key, limit in limits.items())
