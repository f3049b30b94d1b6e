"""Relabelling: how often chance makes two arms differ as much."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import MEDIAN
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.permutation_tests import (
    permutation_chance,
    running_time_chance,
    sharpened,
    throughput_chance,
)
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


def arm(*seconds: float, strategy: str = "default", final: float = 1.0) -> list[Trajectory]:
    return [
        Trajectory.of(
            make_run(strategy=strategy, seed=s, latencies=[2, 1], seconds_per_trial=t, final=final)
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


def test_swapping_few_pairs_has_no_chance_and_costs_none() -> None:
    fast, slow = arm(*[1] * 5, final=1.0), arm(*[1] * 5, final=2.0)
    # 32 swaps tell nothing of 1%, but of 10%.
    assert throughput_chance(fast, slow, 1.0, 0.01) == 1 / 252
    assert throughput_chance(fast, slow, 1.0, 0.1) == 2 / 252


def test_throughput_counts_losses_and_not_gains() -> None:
    fast, slow = arm(*[1] * 5, final=1.0), arm(*[1] * 5, final=2.0)
    assert throughput_chance(fast, slow, 1.0, 0.01) == 1 / 252
    assert throughput_chance(slow, fast, 1.0, 0.01) == 1.0
    assert throughput_chance(fast, slow, 0.5, 0.01) == 1.0  # half as fast is good enough


def test_a_challenger_that_never_arrives_is_compared_too() -> None:
    never = [
        Trajectory.of(make_run(strategy="fast", seed=s, latencies=[9.0, 9.0])) for s in range(5)
    ]
    assert running_time_chance(paired(arm(1, 1, 1, 1, 1), never), "search_s", 1.0, 0.01) <= 2 / 252


def test_pairs_that_differ_much_from_each_other_are_swapped_too() -> None:
    kernels = [1.0, 3.0, 9.0, 27.0, 81.0, 243.0, 0.3, 0.1, 0.03, 0.01]
    reference = [_with_final(s) for s in kernels]
    slower = [_with_final(1.1 * s) for s in kernels]
    assert throughput_chance(reference, slower, 1.0, 0.01) == 2 / 2**10
    assert throughput_chance(slower, reference, 1.0, 0.01) == 1.0


def test_winners_that_could_not_be_measured_count_as_the_slowest() -> None:
    lost = [Trajectory.of(make_run(strategy="fast", seed=s)) for s in range(4)]
    assert throughput_chance(arm(1, 1, 1, 1), lost, 1.0, 0.01) == smallest_chance(4, 4)


def test_what_cannot_be_compared_raises_no_alarm() -> None:
    assert (
        permutation_chance(lambda relabellings: np.full(len(relabellings), math.nan), 3, 3, 0.01)
        == 1.0
    )


def test_groups_may_differ_in_size() -> None:
    values = np.array([1.0, 2.0, 9.0])
    seen = permutation_chance(
        lambda relabellings: values[relabellings[:, 2:]].mean(axis=1), 2, 1, 0.01
    )
    assert seen == 1 / 3


def test_many_seeds_are_sampled_and_a_small_level_takes_more_deals() -> None:
    values = np.concatenate([np.zeros(12), np.ones(12)])
    tried: list[int] = []

    def badness(relabellings):  # type: ignore[no-untyped-def]
        tried.append(len(relabellings))
        return values[relabellings[:, 12:]].sum(axis=1)

    assert permutation_chance(badness, 12, 12, 0.01) < 1e-4
    few = sum(tried)
    tried.clear()
    assert permutation_chance(badness, 12, 12, 1e-4) <= 1e-5
    assert sum(tried) > 5 * few


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.1, 10.0), min_size=6, max_size=6, unique=True))
def test_a_chance_is_a_probability_and_order_does_not_matter(seconds: list[float]) -> None:
    reference, challenger = arm(*seconds[:3]), arm(*seconds[3:], strategy="fast")
    found = running_time_chance(paired(reference, challenger), "search_s", 1.0, 0.01)
    assert 1 / 20 <= found <= 1.0
    turned = paired(reference[::-1], challenger[::-1])
    assert running_time_chance(turned, "search_s", 1.0, 0.01) == found


def test_under_the_null_small_chances_are_as_rare_as_they_say() -> None:
    rng = np.random.default_rng(0)
    found = [
        throughput_chance(
            [_with_final(s) for s in rng.lognormal(0, 0.1, 4)],
            [_with_final(s) for s in rng.lognormal(0, 0.1, 4)],
            1.0,
            0.05,
        )
        for _ in range(400)
    ]
    assert 0.02 < np.mean(np.array(found) <= 0.1) < 0.13


def _with_final(seconds: float) -> Trajectory:
    return Trajectory.of(make_run(final=float(seconds)))


def test_where_counting_ends_students_t_goes_on() -> None:
    least = smallest_chance(5, 5)
    assert sharpened(least, least, 5, 0.01, 1.0, 0.1) == least  # small enough already
    assert sharpened(2 * least, least, 5, 1e-4, 1.0, 0.1) == 2 * least  # not the worst relabelling
    assert sharpened(least, least, 5, 1e-4, 1.0, 0.1) == pytest.approx(2.8e-4, rel=0.02)  # t = 10
    assert sharpened(least, least, 5, 1e-4, 1.0, 0.0) == 0.0
    assert sharpened(least, least, 5, 1e-4, 0.01, 0.1) == least  # t says less than the count
    assert sharpened(least, least, 5, 1e-4, 1.0, None) == least
    assert sharpened(1 / 6, 1 / 6, 2, 0.01, math.inf, None) == 0.0
