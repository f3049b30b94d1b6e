"""Whether a comparison keeps what was promised: holds, broken, or undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_ansorbench.records import Comparison, Estimate, Gate, Outcome, Verdict
from pytest_ansorbench.stats.wording import DIGITS, ratio_text, statement


@dataclass(frozen=True, slots=True)
class Limits:
    """What a candidate has to keep; None sets no limit.

    Attributes:
        max_search_ratio: The largest S that is good enough, e.g. 0.75.
        min_throughput_ratio: The smallest throughput ratio that is good enough, e.g. 0.98.
    """

    max_search_ratio: float | None = None
    min_throughput_ratio: float | None = None

    def __post_init__(self) -> None:
        """Refuse limits that no ratio can be held against."""
        for name in ("max_search_ratio", "min_throughput_ratio"):
            limit = getattr(self, name)
            if limit is not None and not 0.0 < limit < math.inf:
                raise ValueError(f"bad {name} {limit!r}: expected a ratio above 0, e.g. 0.75")


def judge(comparison: Comparison, limits: Limits) -> Verdict:
    """Hold a comparison against its limits.

    A gate holds if the whole interval is on the good side of its limit, is broken if the
    whole interval is on the bad side, and is undecided in between. A gate that had nothing to
    compare is broken.

    Args:
        comparison: The comparison.
        limits: The limits.

    Returns:
        The comparison with one gate per limit that is set.
    """
    repeats = comparison.reference.runs
    gates: list[Gate] = []
    if limits.max_search_ratio is not None:
        estimate = comparison.search_ratio
        gates.append(_gate("search_ratio", estimate, limits.max_search_ratio, repeats))
    if limits.min_throughput_ratio is not None:
        estimate = comparison.throughput_ratio
        gates.append(_gate("throughput_ratio", estimate, limits.min_throughput_ratio, repeats))
    return Verdict(comparison, tuple(gates))


def _gate(metric: str, estimate: Estimate, limit: float, repeats: int) -> Gate:
    smaller_is_better = metric == "search_ratio"
    name = "search ratio S" if smaller_is_better else "throughput ratio"
    shown_limit = _limit_text(limit)
    if estimate.bound == "undefined":
        message = f"{name}: nothing could be compared with the limit {shown_limit}: broken"
        return Gate(metric, limit, "broken", message)
    outcome = _outcome(estimate, limit, smaller_is_better)
    clause = statement(name, estimate, _telling_digits(estimate, limit))
    if outcome == "holds":
        message = f"{clause} is within the limit {shown_limit}: holds"
    elif outcome == "broken":
        verb = "exceeds" if smaller_is_better else "falls short of"
        message = f"{clause} {verb} the limit {shown_limit}: broken"
    else:
        counted = "1 repeat" if repeats == 1 else f"{repeats} repeats"
        message = (
            f"{clause}: its interval straddles the limit {shown_limit}: undecided "
            f"({counted}; more repeats narrow the interval)"
        )
    return Gate(metric, limit, outcome, message)


def _outcome(estimate: Estimate, limit: float, smaller_is_better: bool) -> Outcome:
    if smaller_is_better:
        good, bad = estimate.high <= limit, estimate.low > limit
    else:
        good, bad = estimate.low >= limit, estimate.high < limit
    return "holds" if good else "broken" if bad else "undecided"


def _limit_text(limit: float) -> str:
    """The limit as it was given: never rounded to something else."""
    return max(f"{limit:.{DIGITS}f}", repr(float(limit)), key=len)


def _telling_digits(estimate: Estimate, limit: float) -> int:
    """As few decimals as leave the ends of the interval on the side of the limit they are on.

    Otherwise a sentence could call `[0.51, 0.90]` undecided at a limit of 0.90.
    """
    ends = (estimate.low, estimate.high)
    for digits in range(DIGITS, 7):
        shown = [float(ratio_text(end, digits)) for end in ends]
        if all(
            (a < limit, a > limit) == (b < limit, b > limit)
            for a, b in zip(shown, ends, strict=True)
        ):
            return digits
    return 7
