"""Means of logarithms: their intervals cover, and their chances are those of Student's t."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.rebuilt_ratios import MeanLog

LOGS = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=12)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        logs = rng.normal(math.log(0.9), 0.05, 6).tolist()
        estimate = MeanLog.of(logs).estimate(0.95)
        inside += estimate.low <= 0.9 <= estimate.high
    assert 0.935 <= inside / 2000 <= 0.965


def test_of_unequal_errors_the_average_covers_too():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        kernels = [rng.normal(0.0, spread, 5).tolist() for spread in (0.2, 0.01, 0.02, 0.01)]
        estimate = MeanLog.average([MeanLog.of(logs) for logs in kernels]).estimate(0.95)
        inside += estimate.low <= 1.0 <= estimate.high
    assert inside / 2000 >= 0.935


@given(LOGS, st.floats(0.5, 2.0))
def test_a_chance_below_one_in_forty_is_an_interval_below_the_limit(logs, limit):
    mean = MeanLog.of(logs)
    if mean.error > 1e-9:
        assert (mean.chance_below(limit) < 0.025) == (mean.estimate(0.95).high < limit)


@given(LOGS, LOGS)
def test_differences_are_antisymmetric(one, other):
    there, back = (MeanLog.of(a).minus(MeanLog.of(b)) for a, b in ((one, other), (other, one)))
    assert there.value == pytest.approx(-back.value)
    assert there.error == pytest.approx(back.error)
    assert there.degrees == back.degrees


@given(LOGS)
def test_the_average_of_one_is_itself(logs):
    mean = MeanLog.of(logs)
    again = MeanLog.average([mean])
    assert again.value == pytest.approx(mean.value)
    assert again.error == pytest.approx(mean.error)
    assert again.degrees in (mean.degrees, mean.degrees - 1) or mean.error == 0.0


def test_a_single_value_tells_no_error():
    mean = MeanLog.of([0.1])
    assert mean.estimate(0.95).low == 0.0 and mean.estimate(0.95).high == math.inf
    assert mean.chance_below(0.1) == 1.0


def test_equal_values_are_certain():
    mean = MeanLog.of([math.log(0.9)] * 3)
    assert mean.chance_below(0.97) == 0.0 and mean.chance_below(0.8) == 1.0
    assert mean.estimate(0.95).low == pytest.approx(0.9)
