"""The throughput ratio and its exact interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_ansorbench.stats.permutation_tests import throughput_chance
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


def arm(finals: list[float]) -> list[Trajectory]:
    return [Trajectory.of(make_run(seed=s, final=final)) for s, final in enumerate(finals)]


def arms(
    rng: np.random.Generator, repeats: int, loss: float, *, between: float, within: float
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Two arms whose seeds differ by `between`, and the arms of a seed by `within`."""
    seeds = rng.normal(0.0, between, repeats)
    logs = seeds + rng.normal(0.0, within, (2, repeats))
    return arm(np.exp(logs[0]).tolist()), arm((np.exp(logs[1]) / (1.0 - loss)).tolist())


@pytest.mark.parametrize("repeats", [4, 6, 8])
def test_ends_are_where_the_test_begins_to_reject(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    reference, challenger = arms(rng, repeats, 0.1, between=0.1, within=0.1)
    found = throughput_ratio(reference, challenger, 0.95)
    assert throughput_chance(reference, challenger, found.high * 1.0001, 0.025) <= 0.025
    assert throughput_chance(reference, challenger, found.high * 0.9999, 0.025) > 0.025
    # The other side: who is how much faster is the same question with the arms exchanged.
    assert throughput_chance(challenger, reference, 1.0 / (found.low * 0.9999), 0.025) <= 0.025
    assert throughput_chance(challenger, reference, 1.0 / (found.low * 1.0001), 0.025) > 0.025


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_too_few_deals_have_no_interval(repeats: int) -> None:
    found = throughput_ratio(arm([1.0] * repeats), arm([2.0] * repeats), 0.95)
    assert (found.value, found.low, found.high) == (0.5, 0.0, math.inf)


@pytest.mark.parametrize(("repeats", "between"), [(5, 0.0), (10, 0.0), (10, 1.0)])
def test_intervals_cover_the_truth(repeats: int, between: float) -> None:
    rng = np.random.default_rng(0)
    found = [
        throughput_ratio(*arms(rng, repeats, 0.1, between=between, within=0.1), 0.9)
        for _ in range(150)
    ]
    assert 0.85 <= np.mean([one.low <= 0.9 <= one.high for one in found]) <= 0.98


def test_pairs_that_share_their_luck_have_a_narrow_interval() -> None:
    rng = np.random.default_rng(0)
    found = throughput_ratio(*arms(rng, 10, 0.1, between=1.0, within=0.01), 0.95)
    assert found.high / found.low < 1.05


def test_a_kernel_that_is_missing_falls_back_on_resamples() -> None:
    lost = [*arm([1.0] * 4), Trajectory.of(make_run(seed=4))]
    found = throughput_ratio(arm([1.0] * 5), lost, 0.95)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 1.0)


def test_equal_kernels_have_an_interval_of_one_point() -> None:
    found = throughput_ratio(arm([1.0] * 5), arm([1.0] * 5), 0.95)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
