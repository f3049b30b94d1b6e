"""From all runs of a case to its result: every challenger compared and held against the limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pytest_ansorbench.records import CaseResult, Comparison, Estimate, Gate, Result, Run, Verdict
from pytest_ansorbench.stats.compare import compare, race_of
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.gate import Evidence, Judge, Limits
from pytest_ansorbench.stats.power import search_spread, throughput_spread
from pytest_ansorbench.stats.relabel import (
    search_ratio_chance,
    sharpened,
    smallest_chance,
    throughput_chance,
)
from pytest_ansorbench.stats.running_time_ratio import Race


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


def search_gate(race: Race, estimate: Estimate, limit: float, judge: Judge) -> Gate:
    """Hold S against its largest allowed value.

    Args:
        race: The runs.
        estimate: S, as `search_ratio` gives it.
        limit: The largest S that is good enough.
        judge: How to judge.
    """
    n = len(race.reference)

    def chance(at: float, level: float) -> float:
        counted = search_ratio_chance(race, at, level)
        excess = _log(estimate.value) - math.log(at)
        smallest, error = smallest_chance(n, n), _error(search_spread(race), n)
        return sharpened(counted, smallest, n, level, excess, error)

    evidence = Evidence(chance, spread=lambda: search_spread(race))
    name = "search ratio S"
    return judge.gate("search_ratio", name, estimate, limit, "smaller", evidence, n)


def throughput_gate(race: Race, estimate: Estimate, limit: float, judge: Judge) -> Gate:
    """Hold the throughput ratio against its smallest allowed value.

    Args:
        race: The runs.
        estimate: The ratio, as `throughput_ratio` gives it.
        limit: The smallest ratio that is good enough.
        judge: How to judge.
    """
    n = len(race.reference)

    def chance(at: float, level: float) -> float:
        counted = throughput_chance(race.reference, race.challenger, at, level)
        excess = math.log(at) - _log(estimate.value)
        smallest, error = 2.0 * smallest_chance(n, n), _error(throughput_spread(race), n)
        return sharpened(counted, smallest, n, level, excess, error)

    evidence = Evidence(chance, spread=lambda: throughput_spread(race))
    name = "throughput ratio"
    return judge.gate("throughput_ratio", name, estimate, limit, "larger", evidence, n)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _error(spread: float | None, repeats: int) -> float | None:
    """Standard error of a mean over so many pairs."""
    return None if spread is None else spread / math.sqrt(repeats)


def _gates(race: Race, comparison: Comparison, limits: Limits, judge: Judge) -> tuple[Gate, ...]:
    """One gate per limit that is set; one that had nothing to compare is broken."""
    gates = []
    if (limit := limits.max_search_ratio) is not None:
        gates.append(search_gate(race, comparison.search_ratio, limit, judge))
    if (limit := limits.min_throughput_ratio) is not None:
        gates.append(throughput_gate(race, comparison.throughput_ratio, limit, judge))
    return tuple(gates)


def judge_result(result: Result) -> tuple[list[CaseResult], Criteria]:
    """Judge recorded runs by today's statistics, against the limits they were held to then.

    Verdicts in a file are a convenience for other readers; the runs are the truth.

    Args:
        result: A result as recorded, with the criteria to judge by in its settings.

    Returns:
        Its cases with verdicts on the same runs, and the criteria.

    Raises:
        PairingError: The arms' runs of a case do not pair up.
        ValueError: A recorded limit or rule is none.
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
    limit = {gate.metric: gate.limit for verdict in result.verdicts for gate in verdict.gates}
    return Limits(limit.get("search_ratio"), limit.get("throughput_ratio"))
