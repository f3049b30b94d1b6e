"""How far two orders agree."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.ranks import (
    chance_of_ranks,
    rank_correlation,
    shift_interval,
    signed_ranks,
)
from pytest_ansorbench.stats.relabellings import exchanges


def test_only_the_order_counts():
    values = np.array([0.1, 5.0, 2.0, 9.0])
    assert rank_correlation(values, np.exp(values)) == pytest.approx(1.0)
    assert rank_correlation(values, -values) == pytest.approx(-1.0)


def test_ties_share_their_rank():
    # Ranks 1.5, 1.5, 3 and 1, 2, 3: covariance 1.5, sums of squares 1.5 and 2.
    found = rank_correlation(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert found == pytest.approx(1.5 / np.sqrt(1.5 * 2.0))


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_there_is_none_of_values_that_do_not_vary(values):
    others = np.arange(len(values), dtype=float)
    assert rank_correlation(np.array(values), others) is None


DIFFERENCES = st.lists(
    st.integers(-1000, 1000).filter(bool), min_size=7, max_size=10, unique_by=abs
)


def test_ranks_are_those_of_sizes_with_ties_in_their_middle() -> None:
    found = signed_ranks(np.array([0.5, -2.0, 2.0, 7.0, 0.0]))
    assert found.tolist() == [2.0, -3.5, 3.5, 5.0, 0.0]


def test_the_largest_counts_as_no_more_than_that() -> None:
    signs = exchanges(8, 0.01)
    far, farther = (chance_of_ranks(np.array([1, 2, 3, 4, 5, 6, -7, x]), *signs) for x in (8, 8e9))
    assert far == farther


@given(DIFFERENCES)
def test_the_chance_is_a_share_of_all_signs(values: list[int]) -> None:
    ranks = [sorted(map(abs, values)).index(abs(value)) + 1 for value in values]
    seen = sum(rank for rank, value in zip(ranks, values, strict=True) if value > 0)
    sums = [
        sum(rank for rank, kept in zip(ranks, ways, strict=True) if kept)
        for ways in itertools.product([0, 1], repeat=len(ranks))
    ]
    expected = sum(one >= seen for one in sums) / len(sums)
    found = chance_of_ranks(np.array(values, dtype=float), *exchanges(len(values), 0.01))
    assert found == pytest.approx(expected)


@given(DIFFERENCES)
def test_the_interval_holds_the_shifts_that_are_not_rejected(values: list[int]) -> None:
    differences, signs = np.array(values, dtype=float), exchanges(len(values), 0.025)
    low, high = shift_interval(differences, *signs, 0.025)
    assert low <= np.median(differences) <= high
    for inside, outside in ((low + 0.01, low - 0.01),):
        assert chance_of_ranks(differences - inside, *signs) > 0.025
        assert chance_of_ranks(differences - outside, *signs) <= 0.025
    assert chance_of_ranks(high - 0.01 - differences, *signs) > 0.025
    assert chance_of_ranks(high + 0.01 - differences, *signs) <= 0.025


def test_few_seeds_have_no_interval() -> None:
    found = shift_interval(np.array([1.0, 2.0, 3.0]), *exchanges(3, 0.025), 0.025)
    assert found == (-math.inf, math.inf)
