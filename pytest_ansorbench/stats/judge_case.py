"""From all runs of a case to its result: every candidate compared and held against the limits."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ansorbench.records import CaseResult, Run
from pytest_ansorbench.stats.compare import compare
from pytest_ansorbench.stats.gate import Limits, judge


def judge_case(
    case: str,
    strategies: Sequence[str],
    runs: Sequence[Run],
    *,
    tolerance: float,
    confidence: float,
    limits: Limits,
) -> CaseResult:
    """Compare every candidate with the reference and judge.

    Args:
        case: The case's id.
        strategies: Names of the arms, the reference first.
        runs: Runs of all arms; none at all gives a result without verdicts.
        tolerance: Throughput to concede in the targets, a fraction in [0, 1).
        confidence: Confidence of the intervals, in (0, 1).
        limits: The gates.

    Returns:
        The runs with one verdict per candidate.

    Raises:
        PairingError: The arms' runs do not pair up.
    """
    by_strategy = {name: [run for run in runs if run.strategy == name] for name in strategies}
    reference, *candidates = strategies
    verdicts = tuple(
        judge(
            compare(
                by_strategy[reference],
                by_strategy[candidate],
                tolerance=tolerance,
                confidence=confidence,
            ),
            limits,
        )
        for candidate in (candidates if runs else ())
    )
    return CaseResult(case, tuple(strategies), tuple(runs), verdicts)


def judge_again(result: CaseResult, *, tolerance: float, confidence: float) -> CaseResult:
    """Judge recorded runs by today's statistics, against the limits they were held to then.

    Verdicts in a file are a convenience for other readers; the runs are the truth.

    Args:
        result: A case as recorded.
        tolerance: As for `judge_case`.
        confidence: As for `judge_case`.

    Returns:
        The same runs, judged afresh.

    Raises:
        PairingError: The arms' runs do not pair up.
    """
    limit = {gate.metric: gate.limit for verdict in result.verdicts for gate in verdict.gates}
    return judge_case(
        result.case,
        result.strategies,
        result.runs,
        tolerance=tolerance,
        confidence=confidence,
        limits=Limits(limit.get("search_ratio"), limit.get("throughput_ratio")),
    )
