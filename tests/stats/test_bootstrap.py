"""The percentile interval, with the infinities that censoring brings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_ansorbench.stats.bootstrap import RESAMPLES, percentile_interval


def mean_of(values: list[float]):  # type: ignore[no-untyped-def]
    array = np.array(values)

    def statistic(drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = array[drawn].mean(axis=1)
        return means

    return statistic


def test_one_run_proves_nothing() -> None:
    assert percentile_interval(mean_of([1.0]), 1, 0.95) == (0.0, math.inf)


def test_equal_runs_leave_no_doubt() -> None:
    assert percentile_interval(mean_of([2.0] * 4), 4, 0.95) == (2.0, 2.0)


def test_same_runs_give_the_same_interval() -> None:
    first, again = (percentile_interval(mean_of([1.0, 2.0, 4.0]), 3, 0.9) for _ in range(2))
    assert first == again


def test_more_confidence_is_never_narrower() -> None:
    values = list(np.random.default_rng(0).uniform(1, 2, 12))
    narrow = percentile_interval(mean_of(values), 12, 0.5)
    wide = percentile_interval(mean_of(values), 12, 0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_interval_is_the_normal_one_for_many_well_behaved_runs() -> None:
    values = np.random.default_rng(1).normal(10, 1, 400)
    low, high = percentile_interval(mean_of(list(values)), 400, 0.95)
    error = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.03)


def test_infinite_resamples_have_a_rank() -> None:
    # Half of the resamples are infinite: drawing the second of two runs at least once is 3/4.
    low, high = percentile_interval(mean_of([1.0, math.inf]), 2, 0.9)
    assert (low, high) == (1.0, math.inf)


def test_resamples_without_anything_to_compare_widen_both_ends() -> None:
    low, high = percentile_interval(lambda drawn: np.full(len(drawn), math.nan), 3, 0.9)
    assert (low, high) == (0.0, math.inf)


def test_all_resamples_are_drawn_at_once() -> None:
    shapes = []

    def statistic(drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        shapes.append(drawn.shape)
        return np.ones(len(drawn))

    percentile_interval(statistic, 5, 0.95)
    assert shapes == [(RESAMPLES, 5)]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan])
def test_a_bad_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="bad confidence"):
        percentile_interval(mean_of([1.0, 2.0]), 2, confidence)
