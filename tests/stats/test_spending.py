"""Levels of looks: the rate of error over all of them is the one that was asked for."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.spending import level_at


def levels(looks: Looks, total: float, cases: int) -> list[float]:
    return [level_at(looks, at, total, cases) for at in range(looks.least, looks.most + 1)]


def test_a_single_look_has_it_all() -> None:
    assert level_at(Looks(10, 10), 10, 0.025, 1) == pytest.approx(0.025, rel=1e-3)


@pytest.mark.parametrize("total", [0.025, 0.0025])
def test_random_walks_cross_in_the_share_that_was_asked_for(total: float) -> None:
    looks = Looks(3, 12)
    limits = [NormalDist().inv_cdf(1 - level) for level in levels(looks, total, 0)]
    steps = np.random.default_rng(0).standard_normal((400_000, 12)).cumsum(axis=1)
    scores = (steps / np.sqrt(np.arange(1, 13)))[:, 2:]
    crossed = (scores > np.array(limits)).any(axis=1).mean()
    assert crossed == pytest.approx(total, rel=0.05)


def test_two_looks_cross_as_often_as_two_normal_variables_do() -> None:
    """Exactly, by the bivariate distribution: walks that were below 0 first may cross too."""
    from scipy.stats import multivariate_normal  # which takes a second to import

    first, second = levels(Looks(3, 4), 0.025, 0)
    limits = NormalDist().inv_cdf(1.0 - first), NormalDist().inv_cdf(1.0 - second)
    correlation = math.sqrt(3 / 4)
    within = multivariate_normal.cdf(limits, cov=[[1.0, correlation], [correlation, 1.0]])
    assert first == pytest.approx(0.025 * 3 / 4, rel=1e-3)
    assert 1.0 - within == pytest.approx(0.025, rel=2e-3)


def test_more_looks_have_lower_levels_than_one_and_higher_than_equal_shares() -> None:
    for level in levels(Looks(3, 12), 0.025, 0):
        assert 0.025 / 10 < level < 0.025


def test_a_look_that_can_show_nothing_spends_nothing() -> None:
    """Three repeats of one case can be relabelled in 20 ways: none is as rare as 2.5%."""
    counted, free = (levels(Looks(3, 12), 0.025, cases) for cases in (1, 0))
    assert counted[0] < smallest_chance(3, 3)
    assert counted[1] < smallest_chance(4, 4)
    assert counted[2] > free[2]
    assert counted[2] >= smallest_chance(5, 5)


def test_of_a_session_cut_short_before_its_first_look_there_is_a_level_too() -> None:
    assert 0.0 < level_at(Looks(5, 12), 2, 0.025, 6) < 0.025
