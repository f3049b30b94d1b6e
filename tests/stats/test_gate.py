"""Gates: three outcomes, and sentences that a person understands."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Comparison, Estimate, Gate
from pytest_ansorbench.stats import Limits, judge
from tests.synthetic import make_case_result

COMPARISON = make_case_result().verdicts[0].comparison
LIMITS = st.floats(0.01, 10.0)
BADNESS = {"holds": 0, "undecided": 1, "broken": 2}


def comparison(**ratios: Estimate) -> Comparison:
    return dataclasses.replace(COMPARISON, **ratios)  # type: ignore[arg-type]


def gate(metric: str, estimate: Estimate, limit: float) -> Gate:
    key = "max_search_ratio" if metric == "search_ratio" else "min_throughput_ratio"
    limits: dict[str, Any] = {key: limit}
    (only,) = judge(comparison(**{metric: estimate}), Limits(**limits)).gates
    return only


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    numbers = st.floats(0.0, 10.0) | st.just(math.inf)
    low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    return Estimate(value, low, high)


@pytest.mark.parametrize(
    ("metric", "estimate", "limit", "outcome", "message"),
    [
        (
            "search_ratio",
            Estimate(0.62, 0.51, 0.88),
            0.9,
            "holds",
            "search ratio S = 0.62 [0.51, 0.88] is within the limit 0.90: holds",
        ),
        (
            "search_ratio",
            Estimate(1.2, 1.1, 1.5),
            0.9,
            "broken",
            "search ratio S = 1.20 [1.10, 1.50] exceeds the limit 0.90: broken",
        ),
        (
            "search_ratio",
            Estimate(0.62, 0.51, 0.88),
            0.75,
            "undecided",
            "search ratio S = 0.62 [0.51, 0.88]: its interval straddles the limit 0.75: "
            "undecided (3 repeats; more repeats narrow the interval)",
        ),
        (
            "search_ratio",
            Estimate(8.0, 6.5, math.inf, "at-least"),
            0.75,
            "broken",
            "search ratio S >= 8.00 [6.50, inf] exceeds the limit 0.75: broken",
        ),
        (
            "search_ratio",
            Estimate(0.125, 0.0, 0.25, "at-most"),
            0.75,
            "holds",
            "search ratio S <= 0.12 [0, 0.25] is within the limit 0.75: holds",
        ),
        (
            "search_ratio",
            Estimate(0.0, 0.0, math.inf, "undefined"),
            0.75,
            "broken",
            "search ratio S: nothing could be compared with the limit 0.75: broken",
        ),
        (
            "throughput_ratio",
            Estimate(1.01, 0.99, 1.02),
            0.985,
            "holds",
            "throughput ratio = 1.01 [0.99, 1.02] is within the limit 0.985: holds",
        ),
        (
            "throughput_ratio",
            Estimate(0.9, 0.8, 0.95),
            0.98,
            "broken",
            "throughput ratio = 0.90 [0.80, 0.95] falls short of the limit 0.98: broken",
        ),
        (
            "throughput_ratio",
            Estimate(0.0, 0.0, math.inf, "undefined"),
            0.98,
            "broken",
            "throughput ratio: nothing could be compared with the limit 0.98: broken",
        ),
    ],
)
def test_outcome_and_message(
    metric: str, estimate: Estimate, limit: float, outcome: str, message: str
) -> None:
    assert gate(metric, estimate, limit) == Gate(metric, limit, outcome, message)  # type: ignore[arg-type]


def test_ends_on_the_limit_are_good() -> None:
    assert gate("search_ratio", Estimate(0.6, 0.5, 0.75), 0.75).outcome == "holds"
    assert gate("throughput_ratio", Estimate(1.0, 0.98, 1.0), 0.98).outcome == "holds"
    assert gate("search_ratio", Estimate(0.8, 0.75, 0.9), 0.75).outcome == "undecided"
    assert gate("throughput_ratio", Estimate(0.9, 0.9, 0.98), 0.98).outcome == "undecided"


def test_digits_are_added_where_rounding_would_contradict_the_outcome() -> None:
    message = gate("search_ratio", Estimate(0.8, 0.7, 0.9004), 0.9).message
    assert "[0.7000, 0.9004]" in message
    assert "undecided" in message


def test_one_repeat_is_told() -> None:
    single = dataclasses.replace(COMPARISON.reference, runs=1)
    verdict = judge(
        comparison(reference=single, search_ratio=Estimate(0.5, 0.0, math.inf)),  # type: ignore[arg-type]
        Limits(max_search_ratio=0.75),
    )
    assert verdict.outcome == "undecided"
    assert "(1 repeat; " in verdict.gates[0].message


def test_without_limits_there_is_no_gate() -> None:
    verdict = judge(COMPARISON, Limits())
    assert (verdict.gates, verdict.outcome) == ((), None)
    assert verdict.comparison == COMPARISON


def test_each_limit_makes_one_gate() -> None:
    verdict = judge(COMPARISON, Limits(max_search_ratio=0.75, min_throughput_ratio=0.98))
    assert [g.metric for g in verdict.gates] == ["search_ratio", "throughput_ratio"]


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["max_search_ratio", "min_throughput_ratio"])
def test_bad_limits_are_refused(name: str, limit: float) -> None:
    values: dict[str, Any] = {name: limit}
    with pytest.raises(ValueError, match=f"bad {name} .*: expected a ratio above 0"):
        Limits(**values)


@given(estimates(), LIMITS, LIMITS)
def test_a_looser_limit_is_never_worse(estimate: Estimate, one: float, other: float) -> None:
    strict, loose = sorted([one, other])
    assert (
        BADNESS[gate("search_ratio", estimate, loose).outcome]
        <= BADNESS[gate("search_ratio", estimate, strict).outcome]
    )
    assert (
        BADNESS[gate("throughput_ratio", estimate, strict).outcome]
        <= BADNESS[gate("throughput_ratio", estimate, loose).outcome]
    )


@given(estimates(), LIMITS)
def test_the_message_ends_in_the_outcome(estimate: Estimate, limit: float) -> None:
    for metric in ("search_ratio", "throughput_ratio"):
        judged = gate(metric, estimate, limit)
        assert f": {judged.outcome}" in judged.message
