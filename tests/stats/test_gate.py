"""Gates: three outcomes, and sentences that a person understands."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Estimate, Gate
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.gate import Evidence, Judge, Limits

LIMITS = st.floats(0.01, 10.0)
BADNESS = {"holds": 0, "undecided": 1, "broken": 2}
SENSES = {
    "search_ratio": ("search ratio S", "smaller"),
    "throughput_ratio": ("throughput ratio", "larger"),
}


def gate(
    metric: str,
    estimate: Estimate,
    limit: float,
    *,
    chance: float = 0.001,
    spread: float | None = None,
    repeats: int = 5,
    family: int = 1,
) -> Gate:
    name, sense = SENSES[metric]
    evidence = Evidence(chance=lambda limit, level: chance, spread=lambda: spread)
    return Judge(Criteria(), family).gate(metric, name, estimate, limit, sense, evidence, repeats)  # type: ignore[arg-type]


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
            "undecided (5 repeats; more repeats narrow the interval)",
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
    found = gate(metric, estimate, limit)
    assert (found.metric, found.limit, found.outcome, found.message) == (
        metric,
        limit,
        outcome,
        message,
    )


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
    judged = gate("search_ratio", Estimate(0.5, 0.0, math.inf), 0.75, repeats=1)
    assert judged.outcome == "undecided"
    assert "(1 repeat; below 3 there is no interval to speak of)" in judged.message


def test_a_loss_smaller_than_the_noise_threshold_is_not_broken() -> None:
    judged = gate("search_ratio", Estimate(0.906, 0.904, 0.908), 0.9)
    assert judged.outcome == "undecided"
    assert "exceeds the limit 0.90 by less than 1%: undecided" in judged.message
    assert gate("search_ratio", Estimate(0.92, 0.91, 0.93), 0.9).outcome == "broken"
    judged = gate("throughput_ratio", Estimate(0.975, 0.972, 0.978), 0.98)
    assert judged.outcome == "undecided"
    assert gate("throughput_ratio", Estimate(0.96, 0.95, 0.97), 0.98).outcome == "broken"


def test_what_chance_might_have_done_is_not_broken() -> None:
    bad = Estimate(1.2, 1.1, 1.5)
    judged = gate("search_ratio", bad, 0.9, chance=0.021)
    assert (judged.outcome, judged.p_value) == ("undecided", 0.021)
    assert "exceeds the limit 0.90, but chance would do that in 2.1% of sessions" in judged.message
    assert gate("search_ratio", bad, 0.9, chance=0.01).outcome == "broken"
    assert gate("search_ratio", Estimate(0.5, 0.4, 0.6), 0.9).p_value is None


def test_false_alarms_are_shared_out_among_all_gates_of_a_session() -> None:
    bad = Estimate(1.2, 1.1, 1.5)
    assert gate("search_ratio", bad, 0.9, chance=0.004, family=2).outcome == "broken"
    judged = gate("search_ratio", bad, 0.9, chance=0.004, family=3)
    assert (judged.outcome, judged.family) == ("undecided", 3)


def test_an_undecided_gate_says_what_its_repeats_can_show_and_how_many_would_do() -> None:
    message = gate("search_ratio", Estimate(0.7, 0.4, 1.2), 0.9, spread=0.4, repeats=3).message
    assert message.endswith(
        ": undecided (with 3 repeats a figure has to be below about 0.27 to hold; at 0.70 about "
        "22 would settle it)"
    )
    message = gate(
        "throughput_ratio", Estimate(0.9, 0.8, 1.01), 0.98, spread=0.05, repeats=4
    ).message
    assert "has to be above about 1.08 to hold; at 0.90 about " in message


def test_a_figure_on_its_limit_is_not_worth_more_repeats() -> None:
    message = gate("search_ratio", Estimate(0.905, 0.7, 1.1), 0.9, spread=0.1).message
    assert "this close to the limit no number of repeats would settle it" in message
    message = gate("search_ratio", Estimate(0.895, 0.7, 1.1), 0.9, spread=0.5).message
    assert "at 0.90 not even 100 would settle it" in message


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf, 1e308, 5e-324])
@pytest.mark.parametrize("name", ["max_search_ratio", "min_throughput_ratio"])
def test_bad_limits_are_refused(name: str, limit: float) -> None:
    values: dict[str, Any] = {name: limit}
    with pytest.raises(ValueError, match=f"bad {name} .*: expected a ratio from 1e-6 to 1e6"):
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
