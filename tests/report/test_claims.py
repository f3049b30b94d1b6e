"""Sentences follow from counts: checked against outcomes that are made up."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import ArmSummary, Estimate
from pytest_ansorbench.report.claims import Arrivals, Claim
from pytest_ansorbench.stats.goal import Goal
from tests.synthetic import make_case_result

VALUES = st.floats(1e-3, 1e3)
ESTIMATES = (
    st.builds(Estimate, VALUES, st.just(0.0), st.just(math.inf))
    | st.builds(Estimate, VALUES, st.just(0.0), st.just(math.inf), st.just("at-least"))
    | st.builds(Estimate, VALUES, st.just(0.0), st.just(math.inf), st.just("at-most"))
    | st.just(Estimate(0.0, 0.0, math.inf, "undefined"))
)
COUNTS = st.integers(1, 20).flatmap(
    lambda runs: st.builds(Arrivals, st.integers(0, runs), st.just(runs))
)
CLAIMS = st.builds(
    Claim,
    st.just("fast"),
    st.just("slow"),
    st.sampled_from([Goal(), Goal(0.8), Goal(0.9, 0.9), Goal(1.0, 1.0), Goal(1.0, 1.0, 200.0)]),
    COUNTS,
    COUNTS,
    ESTIMATES,
    ESTIMATES,
    ESTIMATES,
    st.none() | st.floats(0.1, 1.0),
)


@given(CLAIMS)
def test_a_sentence_claims_no_more_than_the_counts(claim: Claim) -> None:
    text = str(claim)
    own, other = claim.arrived, claim.reference_arrived
    uncompared = claim.search_ratio.bound == "undefined"
    if uncompared and claim.throughput_ratio.bound == "undefined":
        assert text == "fast could not be compared with slow"
        return
    assert text.startswith("fast")
    # Both counts stand in every sentence, with what they are of.
    assert f"{own.reached} of {own.runs} run" in text
    assert f"{other.reached} of {other.runs}" in text
    assert ("reaches" in text) == (2 * own.reached >= own.runs and not uncompared)
    ratio = claim.search_ratio
    if "sooner" in text and "reaches" in text:
        assert ratio.value < 1.0
        assert ratio.bound in ("value", "at-most")
    if "times the time" in text:
        assert ratio.value >= 1.0
    if "reaches" not in text:
        assert ("is ahead up to" in text) == (claim.ahead_to is not None)
        assert ("ends at" in text) == (claim.throughput_ratio.bound == "value")
        if "sooner" in text:
            assert claim.ahead_to is not None
            assert claim.ahead_to >= 0.6
            assert claim.early.value < 1.0


@given(CLAIMS)
def test_the_factor_that_is_told_is_the_ratio(claim: Claim) -> None:
    found = re.search(r"([\d.]+) times (sooner|the time) over the last", str(claim))
    if found:
        ratio = claim.search_ratio.value
        expected = 1.0 / ratio if found[2] == "sooner" else ratio
        assert float(found[1]) == pytest.approx(expected, rel=0.1)


def claim(
    ratio: Estimate,
    goal: Goal = Goal(),  # noqa: B008 -- frozen
    *,
    arrived: int = 4,
    ahead_to: float | None = None,
    final: float = 0.54,
) -> str:
    early, throughput = Estimate(0.15, 0.1, 0.2), Estimate(final, 0.4, 0.6)
    return str(
        Claim(
            "fast",
            "slow",
            goal,
            Arrivals(arrived, 5),
            Arrivals(3, 5),
            ratio,
            early,
            throughput,
            ahead_to,
        )
    )


HALF = Estimate(0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (HALF, ", 2.00 times sooner over the last 40% of slow's gain"),
        (Estimate(2.0, 1.5, 3.0), ", in 2.00 times the time over the last 40% of slow's gain"),
        (Estimate(1.001, 0.9, 1.1), ", as soon over the last 40% of slow's gain"),
        (Estimate(0.25, 0.0, 0.5, "at-most"), ", at least 4.00 times sooner over the last 40%"),
        (Estimate(1.8, 1.2, math.inf, "at-least"), ", in at least 1.80 times the time over"),
        (Estimate(1.25, 0.0, 2.0, "at-most"), ", in at most 1.25 times the time over"),
        (Estimate(0.5, 0.2, math.inf, "at-least"), ""),
    ],
)
def test_where_half_of_the_runs_arrive_they_reach_it(ratio: Estimate, words: str) -> None:
    begins = f"fast reaches slow's throughput in 4 of 5 runs (slow in 3 of 5){words}"
    assert claim(ratio).startswith(begins)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (Goal(0.9, 0.9), "fast reaches 90% of slow's gain in 4 of 5 runs (slow in 3 of 5), 2.00 "),
        (Goal(1.0, 1.0), "fast reaches slow's throughput in 4 of 5 runs (slow in 3 of 5), 2.00 "),
        (Goal(1.0, 1.0, 200.0), "fast reaches 200 GFLOP/s in 4 of 5 runs (slow in 3 of 5), 2.00 "),
    ],
    ids=str,
)
def test_a_single_target_is_named(goal: Goal, words: str) -> None:
    assert claim(HALF, goal) == f"{words}times sooner"


@pytest.mark.parametrize(
    ("ahead_to", "words"),
    [
        (0.62, "is ahead up to 62% of slow's gain, 6.67 times sooner to 60%, and ends at 0.54 "),
        (0.996, "is ahead up to 99% of slow's gain, 6.67 times sooner to 60%, and ends at 0.54 "),
        (0.4, "is ahead up to 40% of slow's gain, and ends at 0.54 "),
        (None, "ends at 0.54 "),
    ],
)
def test_where_fewer_arrive_it_is_told_how_far_they_are_ahead(
    ahead_to: float | None, words: str
) -> None:
    assert claim(HALF, arrived=1, ahead_to=ahead_to) == (
        f"fast {words}of slow's throughput (1 of 5 runs arrives at slow's throughput, 3 of 5 of "
        "slow)"
    )


def test_where_neither_reaches_a_target_it_is_told_where_the_challenger_ends() -> None:
    undefined = Estimate(0.0, 0.0, math.inf, "undefined")
    assert claim(undefined, Goal(1.0, 1.0, 500.0), arrived=0) == (
        "fast ends at 0.54 of slow's throughput (0 of 5 runs arrive at 500 GFLOP/s, 3 of 5 of slow)"
    )


@pytest.mark.parametrize("final", [0.0, math.inf])
def test_a_lost_winner_does_not_tell_where_a_challenger_ends(final: float) -> None:
    counts = "1 of 5 runs arrives at slow's throughput, 3 of 5 of slow"
    assert claim(HALF, arrived=1, final=final) == f"fast: {counts}"


def test_counts_of_a_suite_are_those_of_its_cases() -> None:
    arms: list[ArmSummary] = [
        verdict.comparison.challenger
        for name in ("a", "b")
        for verdict in make_case_result(name).verdicts
    ]
    found = Arrivals.of(arms)
    assert (found.reached, found.runs) == (
        sum(arm.reached for arm in arms),
        sum(arm.runs for arm in arms),
    )
