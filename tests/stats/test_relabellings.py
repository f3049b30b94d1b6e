"""Labels put on anew, and how often chance makes two arms differ as much."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_ansorbench.stats.relabellings import (
    exchanges,
    fewest_repeats,
    permutation_chance,
    relabelled,
    share,
    sharpened,
    smallest_chance,
    some_relabellings,
    swaps_tell,
)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (4, 4)])
def test_all_ways_occur_once_and_each_run_is_in_every_one(first: int, second: int) -> None:
    relabellings = np.concatenate(list(relabelled(first, second, 0.01)))
    assert len(relabellings) == math.comb(first + second, first)
    assert (np.sort(relabellings, axis=1) == np.arange(first + second)).all()
    assert len({frozenset(labels[:first]) for labels in relabellings}) == len(relabellings)


def test_many_runs_are_relabelled_at_random_and_the_same_way_each_time() -> None:
    once, again = (np.concatenate(list(relabelled(12, 12, 0.01))) for _ in range(2))
    assert len(once) == 20_000
    assert np.array_equal(once, again)
    assert sum(map(len, relabelled(12, 12, 1e-4))) == 200_000


def test_the_arms_of_seeds_are_exchanged_in_all_ways_or_many() -> None:
    signs, complete = exchanges(3, 0.01)
    assert complete
    assert sorted(map(tuple, signs.tolist())) == sorted(itertools.product([-1, 1], repeat=3))
    many, complete = exchanges(20, 0.01)
    assert (len(many), complete) == (20_000, False)
    assert exchanges(20, 0.01)[0] is many


def test_few_relabellings_are_complete_and_handed_out_again() -> None:
    relabellings, complete = some_relabellings(5, 5, 0.025)
    assert (len(relabellings), complete) == (252, True)
    assert some_relabellings(5, 5, 0.025)[0] is relabellings
    drawn, complete = some_relabellings(10, 10, 0.025)
    assert (len(drawn), complete) == (4000, False)
    assert len(some_relabellings(10, 10, 0.001)[0]) == 20_000


def test_as_few_repeats_as_a_tail_takes() -> None:
    assert fewest_repeats(0.05) == 3  # 20 relabellings
    assert fewest_repeats(0.025) == 4  # 70 relabellings
    assert fewest_repeats(0.005) == 5
    assert fewest_repeats(0.025, cases=3) == 2  # 6 relabellings a case, 216 in all
    assert fewest_repeats(0.025, cases=6) == 1  # 64 in all
    assert fewest_repeats(0.025, others=5) == 3  # 56 relabellings
    assert smallest_chance(4, 4) == 1 / 70


def test_swaps_are_worth_asking_once_they_can_tell() -> None:
    assert not swaps_tell(6, 0.025)
    assert swaps_tell(7, 0.025)


def test_what_was_seen_is_a_relabelling_too() -> None:
    assert share(0, 99, complete=False) == 0.01
    assert share(1, 100, complete=True) == 0.01


def test_what_cannot_be_compared_raises_no_alarm() -> None:
    assert permutation_chance(lambda labels: np.full(len(labels), math.nan), 3, 3, 0.01) == 1.0


def test_groups_may_differ_in_size() -> None:
    values = np.array([1.0, 2.0, 9.0])
    seen = permutation_chance(lambda labels: values[labels[:, 2:]].mean(axis=1), 2, 1, 0.01)
    assert seen == 1 / 3


def test_many_seeds_are_sampled_and_a_small_level_takes_more_relabellings() -> None:
    values = np.concatenate([np.zeros(12), np.ones(12)])
    tried: list[int] = []

    def badness(labels):  # type: ignore[no-untyped-def]
        tried.append(len(labels))
        return values[labels[:, 12:]].sum(axis=1)

    assert permutation_chance(badness, 12, 12, 0.01) < 1e-4
    few = sum(tried)
    tried.clear()
    assert permutation_chance(badness, 12, 12, 1e-4) <= 1e-5
    assert sum(tried) > 5 * few


def test_where_counting_ends_students_t_goes_on() -> None:
    least = smallest_chance(5, 5)
    assert sharpened(least, least, 5, 0.01, 1.0, 0.1) == least  # small enough already
    assert sharpened(2 * least, least, 5, 1e-4, 1.0, 0.1) == 2 * least  # not the worst relabelling
    assert sharpened(least, least, 5, 1e-4, 1.0, 0.1) == pytest.approx(2.8e-4, rel=0.02)  # t = 10
    assert sharpened(least, least, 5, 1e-4, 1.0, 0.0) == 0.0
    assert sharpened(least, least, 5, 1e-4, 0.01, 0.1) == least  # t says less than the count
    assert sharpened(least, least, 5, 1e-4, 1.0, None) == least
    assert sharpened(1 / 6, 1 / 6, 2, 0.01, math.inf, None) == 0.0
