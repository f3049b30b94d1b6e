"""In which order a table shows the cases; the arms of a case always stay together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_ansorbench.records import CaseResult, Comparison, Estimate
from pytest_ansorbench.report.columns import ColumnError
from pytest_ansorbench.report.rows import case_rows

DEFAULT_SORT: Final = "order"

_OUTCOMES: Final = ("broken", "undecided", "holds", None)


def parse_sort(text: str) -> str:
    """Parse a sort key.

    Raises:
        ColumnError: There is no such key.
    """
    key = text.strip()
    if key not in SORT_KEYS:
        raise ColumnError(
            f"bad sort key {text!r}: expected one of {', '.join(SORT_KEYS)}, e.g. 'search_ratio'"
        )
    return key


def sort_cases(cases: Sequence[CaseResult], key: str) -> tuple[CaseResult, ...]:
    """Sort cases, ascending, by the figures of their first challenger.

    Args:
        cases: The cases.
        key: One of `SORT_KEYS`; `order` leaves them in order of execution.

    Returns:
        All cases. A bound counts as its figure; those without one come last; equal ones keep
        their order.

    Raises:
        ColumnError: There is no such key.
    """
    rank = SORT_KEYS[parse_sort(key)]
    return tuple(sorted(cases, key=rank))


def _by_ratio(of: Callable[[Comparison], Estimate]) -> Callable[[CaseResult], float]:
    def rank(case: CaseResult) -> float:
        estimate = of(case.verdicts[0].comparison) if case.verdicts else None
        return math.inf if estimate is None or estimate.bound == "undefined" else estimate.value

    return rank


def _by_search_time(case: CaseResult) -> float:
    rows = case_rows(case)
    arm = rows[min(1, len(rows) - 1)].arm if rows else None
    return arm.search_s if arm else math.inf


def _by_time_to_target(case: CaseResult) -> float:
    return case.verdicts[0].comparison.challenger.time_to_target_s if case.verdicts else math.inf


def _by_verdict(case: CaseResult) -> int:
    """The worst first, over all challengers: it is what one looks for."""
    return min((_OUTCOMES.index(v.outcome) for v in case.verdicts), default=len(_OUTCOMES))


SORT_KEYS: Final[Mapping[str, Callable[[CaseResult], float | str]]] = MappingProxyType(
    {
        "order": lambda case: 0,
        "case": lambda case: case.case,
        "search_time": _by_search_time,
        "time_to_target": _by_time_to_target,
        "search_ratio": _by_ratio(lambda c: c.search_ratio),
        "search_ratio_paper": _by_ratio(lambda c: c.search_ratio_paper),
        "search_ratio_trials": _by_ratio(lambda c: c.search_ratio_trials),
        "running_time_ratio": _by_ratio(lambda c: c.running_time_ratio),
        "throughput_ratio": _by_ratio(lambda c: c.throughput_ratio),
        "verdict": _by_verdict,
    }
)
