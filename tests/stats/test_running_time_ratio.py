"""Expected running time and its laws; how often chance makes two of them differ as much."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import MEDIAN
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.running_time_ratio import (
    expected_running_time,
    running_time_chance,
    running_time_spread,
    search_ratio_paper,
)
from pytest_ansorbench.stats.trajectory import Hit, Trajectory
from tests.synthetic import make_run

SPENT = st.floats(0.0, 1e6)
ARMS = st.lists(st.tuples(SPENT, st.booleans()), min_size=1, max_size=8)


def ert(arm: list[tuple[float, bool]]) -> float:
    return expected_running_time([Hit(reached, spent, 0) for spent, reached in arm], "search_s")


def test_misses_count_in_full() -> None:
    assert ert([(10.0, True), (20.0, True), (60.0, False)]) == 45.0


def test_no_hit_takes_forever() -> None:
    assert ert([(1.0, False)]) == math.inf
    assert ert([]) == math.inf


@given(ARMS, SPENT)
def test_a_censored_run_never_lowers_it(arm: list[tuple[float, bool]], spent: float) -> None:
    assert ert([*arm, (spent, False)]) >= ert(arm)


@given(ARMS, st.randoms(use_true_random=False))
def test_order_does_not_matter(arm: list[tuple[float, bool]], random: object) -> None:
    shuffled = list(arm)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ert(shuffled) == ert(arm)


@given(ARMS, st.sampled_from([0.25, 2.0, 1024.0]))
def test_it_has_the_unit_of_the_spending(arm: list[tuple[float, bool]], factor: float) -> None:
    assert ert([(spent * factor, hit) for spent, hit in arm]) == pytest.approx(ert(arm) * factor)


def arm(*seconds: float, strategy: str = "default") -> list[Trajectory]:
    return [
        Trajectory.of(
            make_run(strategy=strategy, seed=s, latencies=[2, 1], seconds_per_trial=t, final=1.0)
        )
        for s, t in enumerate(seconds)
    ]


def paired(reference: list[Trajectory], challenger: list[Trajectory]) -> PairedRuns:
    return PairedRuns(reference, challenger, MEDIAN, 0.0)


def test_apart_as_far_as_can_be_is_the_smallest_chance_there_is() -> None:
    slow = paired(arm(1, 2, 3, 4, 5), arm(10, 20, 30, 40, 50))
    assert running_time_chance(slow, "search_s", 1.0, 0.01) == smallest_chance(5, 5) == 1 / 252


def test_the_limit_is_what_the_challenger_is_held_to() -> None:
    twice = paired(arm(1, 2, 3, 4, 5), arm(2, 4, 6, 8, 10))
    assert running_time_chance(twice, "search_s", 2.0, 0.01) > 0.4
    assert running_time_chance(twice, "search_s", 0.1, 0.01) == 1 / 252


def test_a_ratio_of_trials_does_not_see_the_clock() -> None:
    slow = paired(arm(1, 2, 3, 4, 5), arm(10, 20, 30, 40, 50))
    assert running_time_chance(slow, "trials", 1.0, 0.01) == 1.0
    assert running_time_chance(slow, "trials", 0.5, 0.01) == 1 / 252


def test_a_challenger_that_never_arrives_is_compared_too() -> None:
    never = [
        Trajectory.of(make_run(strategy="fast", seed=s, latencies=[9.0, 9.0])) for s in range(5)
    ]
    assert running_time_chance(paired(arm(1, 1, 1, 1, 1), never), "search_s", 1.0, 0.01) <= 2 / 252


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.1, 10.0), min_size=6, max_size=6, unique=True))
def test_a_chance_is_a_probability_and_order_does_not_matter(seconds: list[float]) -> None:
    reference, challenger = arm(*seconds[:3]), arm(*seconds[3:], strategy="fast")
    found = running_time_chance(paired(reference, challenger), "search_s", 1.0, 0.01)
    assert 1 / 20 <= found <= 1.0
    turned = paired(reference[::-1], challenger[::-1])
    assert running_time_chance(turned, "search_s", 1.0, 0.01) == found


@given(
    st.lists(st.floats(1e-6, 1e3) | st.none(), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.01]),
)
def test_each_reference_run_reaches_its_own_target(
    best: list[float | None], tolerance: float
) -> None:
    runs = [Trajectory.of(make_run(seed=s, latencies=[one])) for s, one in enumerate(best)]
    found = search_ratio_paper(PairedRuns(runs, runs, MEDIAN, tolerance), 0.95)
    assert (found.value, found.bound) == ((1.0, "value") if any(best) else (0.0, "undefined"))


def test_where_all_runs_arrive_the_spread_is_that_of_relative_times() -> None:
    pairs = paired(arm(4.0, 5.0, 6.0, 9.0), arm(1.0, 3.0, 2.0, 2.0))
    differences = [
        fast / 2.0 - slow / 6.0
        for slow, fast in zip((4.0, 5.0, 6.0, 9.0), (1.0, 3.0, 2.0, 2.0), strict=True)
    ]
    expected = statistics.stdev(differences)
    assert running_time_spread(pairs, "search_s") == pytest.approx(expected)


def test_there_is_no_spread_of_few_runs() -> None:
    few = paired(arm(4.0, 5.0), arm(1.0, 3.0))
    assert running_time_spread(few, "search_s") is None
