"""The percentile interval, with the infinities that censoring brings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_ansorbench.stats.bootstrap import RESAMPLES, draw, percentile_interval


def interval(values: list[float], confidence: float) -> tuple[float, float]:
    with np.errstate(invalid="ignore"):
        means = np.array(values)[draw(len(values))].mean(axis=1)
    return percentile_interval(means, len(values), confidence)


def test_one_run_proves_nothing() -> None:
    assert interval([1.0], 0.95) == (0.0, math.inf)


def test_equal_runs_leave_no_doubt() -> None:
    assert interval([2.0] * 4, 0.95) == (2.0, 2.0)


def test_more_confidence_is_never_narrower() -> None:
    values = list(np.random.default_rng(0).uniform(1, 2, 12))
    narrow, wide = interval(values, 0.5), interval(values, 0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_interval_is_the_normal_one_for_many_well_behaved_runs() -> None:
    values = np.random.default_rng(1).normal(10, 1, 400)
    low, high = interval(list(values), 0.95)
    error = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.03)


def test_infinite_resamples_have_a_rank() -> None:
    # Half of the resamples are infinite: drawing the second of two runs at least once is 3/4.
    assert interval([1.0, math.inf], 0.9) == (1.0, math.inf)


def test_resamples_without_anything_to_compare_widen_both_ends() -> None:
    assert percentile_interval(np.full(100, math.nan), 3, 0.9) == (0.0, math.inf)


def test_draws_are_the_same_every_time_and_independent_between_streams() -> None:
    assert draw(5).shape == (RESAMPLES, 5)
    assert (draw(5) == draw(5)).all()
    assert 0.15 < (draw(5) == draw(5, stream=1)).mean() < 0.25
    assert set(np.unique(draw(5))) == set(range(5))
