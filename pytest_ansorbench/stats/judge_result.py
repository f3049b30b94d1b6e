"""Recorded runs, judged anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_ansorbench.records import CaseResult, Result, SuiteVerdict
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import families
from pytest_ansorbench.stats.judge_case import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.suite import judge_suites, own_arms, suite_gates


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """A result, judged.

    Attributes:
        cases: Its cases with their verdicts.
        suites: The verdicts over all of them.
        criteria: How they were judged.
    """

    cases: tuple[CaseResult, ...]
    suites: tuple[SuiteVerdict, ...]
    criteria: Criteria


def judge_result(result: Result) -> JudgedResult:
    """Judge recorded runs by today's statistics, against the limits they were held to then.

    Verdicts in a file are a convenience for other readers; the runs are the truth.

    Args:
        result: A result as recorded, with the criteria to judge by in its settings.

    Returns:
        Its cases with verdicts on the same runs, and the suites of them.

    Raises:
        PairingError: The arms' runs of a case do not pair up.
        ValueError: A recorded limit or criterion is none.
    """
    criteria = Criteria.from_settings(result.settings)
    limits = suite_limits(result.settings)
    family, suite_family = families(
        sum(len(case.gates) for case in result.cases),
        suite_gates((own_arms(case) for case in result.cases), limits),
    )
    cases = tuple(
        replace(
            case,
            verdicts=judge_arms(
                case.strategies,
                case.runs,
                criteria=criteria.looked_at(case.looks),
                limits=recorded_limits(case),
                control=case.control,
                family=family,
            ),
        )
        for case in result.cases
    )
    suites = judge_suites(cases, criteria, limits, family=suite_family, lost=result.lost)
    return JudgedResult(cases, suites, criteria)


def recorded_limits(result: CaseResult) -> Limits:
    """The limits that a recorded case was held to.

    Raises:
        ValueError: A recorded limit is none.
    """
    return Limits({gate.metric: gate.limit for gate in result.gates})


def suite_limits(settings: Mapping[str, Any]) -> Limits:
    """The limits that a recorded suite was held to.

    Args:
        settings: The settings of the result.

    Raises:
        ValueError: A recorded limit is none.
    """
    given = {}
    for figure in FIGURES.values():
        if figure.suite_keyword and settings.get(figure.suite_keyword) is not None:
            limit = settings[figure.suite_keyword]
            if isinstance(limit, bool) or not isinstance(limit, int | float):
                raise ValueError(f"bad setting {figure.suite_keyword} {limit!r}: expected a number")
            given[figure.key] = float(limit)
    return Limits(given)
