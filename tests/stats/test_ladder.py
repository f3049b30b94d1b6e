"""S over the way: its exact test and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.ladder import (
    ladder_chance,
    ladder_ratio,
)
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.trajectory import Spending, Trajectory
from tests.synthetic import make_run

WAY, END = Goal(), Goal(1.0, 1.0)


def over(paired: PairedRuns, goal: Goal = WAY, spending: Spending = "search_s") -> Climb:
    return Climb.of(paired, spending, goal)


def climbing(rng: np.random.Generator, seconds: float = 1.0, steps: int = 12) -> Trajectory:
    """A run that gets faster by random steps, at random times."""
    latencies = np.minimum.accumulate(np.exp(-rng.gamma(400.0, 0.2 / 400.0, steps).cumsum()))
    run = make_run(latencies=latencies.tolist(), seconds_per_trial=seconds * rng.lognormal(0, 0.3))
    return Trajectory.of(run)


def pairings(repeats: int, seconds: float, count: int = 1) -> Sequence[PairedRuns]:
    rng = np.random.default_rng(0)
    return [
        PairedRuns(
            [climbing(rng) for _ in range(repeats)],
            [climbing(rng, seconds) for _ in range(repeats)],
            Goal(),
            0.01,
        )
        for _ in range(count)
    ]


def test_the_interval_holds_the_ratios_that_the_test_does_not_reject() -> None:
    [paired] = pairings(5, 2.0)
    found = ladder_ratio(over(paired), 0.95)
    assert found.bound == "value"
    assert 0.0 < found.low < found.value < found.high < math.inf
    assert ladder_chance(over(paired), found.low * 0.9999, 0.025) <= 0.025
    assert ladder_chance(over(paired), found.low * 1.0001, 0.025) > 0.025


def test_a_higher_confidence_has_a_wider_interval() -> None:
    [paired] = pairings(7, 1.5)
    narrow, wide = (ladder_ratio(over(paired), level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_too_few_relabellings_for_a_confidence_have_no_interval(repeats: int) -> None:
    [paired] = pairings(repeats, 10.0)
    found = ladder_ratio(over(paired), 0.95)
    assert (found.low, found.high) == (0.0, math.inf)
    assert found.value > 1.0


@pytest.mark.parametrize("repeats", [4, 9])
def test_intervals_cover_the_truth(repeats: int) -> None:
    found = [ladder_ratio(over(paired), 0.9) for paired in pairings(repeats, 2.0, 80)]
    covered = np.mean([one.low <= 2.0 <= one.high for one in found])
    assert 0.84 <= covered <= 0.98
    assert np.median([one.value for one in found]) == pytest.approx(2.0, rel=0.1)


def test_under_the_null_small_chances_are_as_rare_as_they_say() -> None:
    found = np.array([ladder_chance(over(paired), 2.0, 0.05) for paired in pairings(4, 2.0, 300)])
    assert 0.02 <= np.mean(found <= 0.05) <= 0.08
    assert 0.4 <= np.mean(found <= 0.5) <= 0.6


def test_a_challenger_that_never_arrives_has_a_lower_bound() -> None:
    [paired] = pairings(5, 1.0)
    never = [
        Trajectory.of(make_run(strategy="fast", seed=s, latencies=[9.0] * 24)) for s in range(5)
    ]
    paired = PairedRuns(paired.reference, never, Goal(), 0.01)
    found = ladder_ratio(over(paired), 0.95)
    assert (found.bound, found.high) == ("at-least", math.inf)
    assert 1.0 < found.low <= found.value
    assert ladder_chance(over(paired), 1.0, 0.01) == 1 / 252


def test_a_reference_that_never_arrives_gives_an_upper_bound() -> None:
    [paired] = pairings(5, 1.0)
    nothing = [Trajectory.of(make_run(seed=s, latencies=[None] * 24)) for s in range(5)]
    lost = PairedRuns(nothing, paired.challenger, Goal(), 0.01)
    found = ladder_ratio(over(lost), 0.95)
    assert (found.bound, found.low) == ("at-most", 0.0)
    none = PairedRuns(nothing, nothing, Goal(), 0.01)
    both = ladder_ratio(over(none), 0.95)
    assert both.bound == "undefined"


def test_a_ratio_of_trials_does_not_see_the_clock() -> None:
    [slow], [fast] = pairings(5, 8.0), pairings(5, 1.0)
    assert ladder_ratio(over(slow, spending="trials"), 0.95) == ladder_ratio(
        over(fast, spending="trials"), 0.95
    )


def test_more_seeds_than_can_be_relabelled_exhaustively() -> None:
    [paired] = pairings(12, 4.0)
    found = ladder_ratio(over(paired), 0.95)
    assert 1.5 < found.low < found.high < 8.0
    assert ladder_chance(over(paired), 1.0, 1e-4) < 1e-4


def arm(*seconds: float, strategy: str = "default") -> list[Trajectory]:
    return [
        Trajectory.of(
            make_run(strategy=strategy, seed=s, latencies=[2, 1], seconds_per_trial=t, final=1.0)
        )
        for s, t in enumerate(seconds)
    ]


def to_the_end(reference: list[Trajectory], challenger: list[Trajectory]) -> PairedRuns:
    return PairedRuns(reference, challenger, END, 0.0)


def test_apart_as_far_as_can_be_is_the_smallest_chance_there_is() -> None:
    slow = to_the_end(arm(1, 2, 3, 4, 5), arm(10, 20, 30, 40, 50))
    assert ladder_chance(over(slow, END), 1.0, 0.01) == smallest_chance(5, 5) == 1 / 252


def test_the_limit_is_what_the_challenger_is_held_to() -> None:
    twice = to_the_end(arm(1, 2, 3, 4, 5), arm(2, 4, 6, 8, 10))
    assert ladder_chance(over(twice, END), 2.0, 0.01) > 0.4
    assert ladder_chance(over(twice, END), 0.1, 0.01) == 1 / 252


def test_trials_to_a_single_target_do_not_see_the_clock() -> None:
    slow = to_the_end(arm(1, 2, 3, 4, 5), arm(10, 20, 30, 40, 50))
    assert ladder_chance(over(slow, END, "trials"), 1.0, 0.01) == 1.0
    assert ladder_chance(over(slow, END, "trials"), 0.5, 0.01) == 1 / 252


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.1, 10.0), min_size=6, max_size=6, unique=True))
def test_a_chance_is_a_probability_and_order_does_not_matter(seconds: list[float]) -> None:
    reference, challenger = arm(*seconds[:3]), arm(*seconds[3:], strategy="fast")
    found = ladder_chance(over(to_the_end(reference, challenger), END), 1.0, 0.01)
    assert 1 / 20 <= found <= 1.0
    turned = to_the_end(reference[::-1], challenger[::-1])
    assert ladder_chance(over(turned, END), 1.0, 0.01) == found
