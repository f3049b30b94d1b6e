"""The throughput ratio and its exact interval."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest

from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.relabellings import smallest_chance
from pytest_ansorbench.stats.throughput_ratio import throughput_chance, throughput_ratio
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


def arm(finals: Sequence[float]) -> list[Trajectory]:
    return [Trajectory.of(make_run(seed=s, final=float(final))) for s, final in enumerate(finals)]


def paired(reference: Sequence[float], challenger: Sequence[float]) -> PairedRuns:
    return PairedRuns(arm(reference), arm(challenger), Goal(), 0.01)


def swapped(arms: PairedRuns) -> PairedRuns:
    return dataclasses.replace(arms, reference=arms.challenger, challenger=arms.reference)


def arms(
    rng: np.random.Generator, repeats: int, loss: float, *, between: float, within: float
) -> PairedRuns:
    """Two arms whose seeds differ by `between`, and the arms of a seed by `within`."""
    seeds = rng.normal(0.0, between, repeats)
    logs = seeds + rng.normal(0.0, within, (2, repeats))
    return paired(np.exp(logs[0]).tolist(), (np.exp(logs[1]) / (1.0 - loss)).tolist())


@pytest.mark.parametrize("repeats", [4, 6, 8])
def test_ends_are_where_the_test_begins_to_reject(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    both = arms(rng, repeats, 0.1, between=0.1, within=0.1)
    found = throughput_ratio(both, 0.95)
    assert throughput_chance(both, found.high * 1.0001, 0.025) <= 0.025
    assert throughput_chance(both, found.high * 0.9999, 0.025) > 0.025
    # The other side: who is how much faster is the same question with the arms exchanged.
    assert throughput_chance(swapped(both), 1.0 / (found.low * 0.9999), 0.025) <= 0.025
    assert throughput_chance(swapped(both), 1.0 / (found.low * 1.0001), 0.025) > 0.025


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_too_few_relabellings_have_no_interval(repeats: int) -> None:
    found = throughput_ratio(paired([1.0] * repeats, [2.0] * repeats), 0.95)
    assert (found.value, found.low, found.high) == (0.5, 0.0, math.inf)


@pytest.mark.parametrize(("repeats", "between"), [(5, 0.0), (10, 0.0), (10, 1.0)])
def test_intervals_cover_the_truth(repeats: int, between: float) -> None:
    rng = np.random.default_rng(0)
    found = [
        throughput_ratio(arms(rng, repeats, 0.1, between=between, within=0.1), 0.9)
        for _ in range(150)
    ]
    assert 0.85 <= np.mean([one.low <= 0.9 <= one.high for one in found]) <= 0.98


def test_pairs_that_share_their_luck_have_a_narrow_interval() -> None:
    rng = np.random.default_rng(0)
    found = throughput_ratio(arms(rng, 10, 0.1, between=1.0, within=0.01), 0.95)
    assert found.high / found.low < 1.05


def test_a_kernel_that_is_missing_falls_back_on_resamples() -> None:
    lost = [*arm([1.0] * 4), Trajectory.of(make_run(seed=4))]
    found = throughput_ratio(PairedRuns(arm([1.0] * 5), lost, Goal(), 0.01), 0.95)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("repeats", [2, 3])
def test_few_seeds_of_which_one_has_no_kernel_have_no_interval(repeats: int) -> None:
    lost = [*arm([1.0] * (repeats - 1)), Trajectory.of(make_run(seed=repeats))]
    both = PairedRuns(arm([1.0] * repeats), lost, Goal(), 0.01)
    for one, value in ((both, 0.0), (swapped(both), math.inf)):
        found = throughput_ratio(one, 0.95)
        assert (found.value, found.low, found.high) == (value, 0.0, math.inf)


def test_equal_kernels_have_an_interval_of_one_point() -> None:
    found = throughput_ratio(paired([1.0] * 5, [1.0] * 5), 0.95)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_swapping_few_pairs_has_no_chance_and_costs_none() -> None:
    slower = paired([1.0] * 5, [2.0] * 5)
    # 32 swaps tell nothing of 1%, but of 10%.
    assert throughput_chance(slower, 1.0, 0.01) == 1 / 252
    assert throughput_chance(slower, 1.0, 0.1) == 2 / 252


def test_throughput_counts_losses_and_not_gains() -> None:
    slower = paired([1.0] * 5, [2.0] * 5)
    assert throughput_chance(slower, 1.0, 0.01) == 1 / 252
    assert throughput_chance(swapped(slower), 1.0, 0.01) == 1.0
    assert throughput_chance(slower, 0.5, 0.01) == 1.0  # half as fast is good enough


def test_pairs_that_differ_much_from_each_other_are_swapped_too() -> None:
    kernels = [1.0, 3.0, 9.0, 27.0, 81.0, 243.0, 0.3, 0.1, 0.03, 0.01]
    slower = paired(kernels, [1.1 * s for s in kernels])
    assert throughput_chance(slower, 1.0, 0.01) == 2 / 2**10
    assert throughput_chance(swapped(slower), 1.0, 0.01) == 1.0


def test_winners_that_could_not_be_measured_count_as_the_slowest() -> None:
    lost = [Trajectory.of(make_run(strategy="fast", seed=s)) for s in range(4)]
    none = PairedRuns(arm([1.0] * 4), lost, Goal(), 0.01)
    assert throughput_chance(none, 1.0, 0.01) == smallest_chance(4, 4)


def test_under_the_null_small_chances_are_as_rare_as_they_say() -> None:
    rng = np.random.default_rng(0)
    found = [
        throughput_chance(paired(*rng.lognormal(0, 0.1, (2, 4))), 1.0, 0.05) for _ in range(400)
    ]
    assert 0.02 < np.mean(np.array(found) <= 0.1) < 0.13
