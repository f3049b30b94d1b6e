"""Targets: what the arms have to reach."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Remeasurement, Run
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns, pair_runs
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import FLOPS, make_run

END = Goal(1.0, 1.0)
LATENCIES = st.floats(1e-6, 1e3)


def runs(*best: float | None) -> list[Trajectory]:
    return [Trajectory.of(make_run(seed=s, latencies=[one])) for s, one in enumerate(best)]


def target(arm: list[Trajectory], tolerance: float, goal: Goal = END) -> float:
    return PairedRuns(arm, arm, goal, tolerance).target_s


def test_target_is_the_median_final_latency() -> None:
    assert target(runs(1.0, 9.0, 2.0), 0.0) == pytest.approx(2.0)


def test_an_even_number_of_runs_averages_throughput_not_latency() -> None:
    assert target(runs(1.0, 3.0), 0.0) == pytest.approx(1.5)


def test_tolerance_is_a_share_of_throughput() -> None:
    assert 1 / target(runs(2.0), 0.25) == pytest.approx(0.75 * (1 / 2.0))


def test_a_run_without_a_valid_trial_counts_as_throughput_0() -> None:
    assert target(runs(1.0, 2.0, None), 0.0) == pytest.approx(2.0)
    assert target(runs(1.0, None), 0.0) == pytest.approx(2.0)
    assert target(runs(None, None, 1.0), 0.0) == math.inf


def test_a_share_of_the_gain_is_on_the_way_from_the_first_kernel() -> None:
    arm = [Trajectory.of(make_run(seed=s, latencies=[4.0, None, 1.0])) for s in range(3)]
    assert 1 / target(arm, 0.0, Goal(0.5, 0.5)) == pytest.approx((1 / 4 + 1) / 2)
    assert target(arm, 0.25, Goal(1.0, 1.0)) == target(arm, 0.25)


def test_a_search_without_gain_has_its_first_kernel_for_a_target() -> None:
    assert target(runs(1.0, 1.0), 0.5, Goal(0.25, 0.25)) == pytest.approx(2.0)


def test_a_throughput_is_taken_as_it_is() -> None:
    assert target(runs(None), 0.5, Goal(1.0, 1.0, 4.0)) == FLOPS / 4e9


@given(st.lists(LATENCIES, min_size=1, max_size=9), st.sampled_from([0.0, 0.01, 0.3]))
def test_at_least_half_of_the_reference_runs_reach_the_target_of_an_odd_number(
    best: list[float], tolerance: float
) -> None:
    if len(best) % 2 == 0:
        best = best[1:] or best * 3
    arm = runs(*best)
    reached = sum(run.hit(target(arm, tolerance)).reached for run in arm)
    assert 2 * reached > len(best)


@given(LATENCIES, st.integers(1, 6))
def test_equal_runs_all_reach_their_target_even_without_tolerance(best: float, n: int) -> None:
    arm = runs(*[best] * n)
    assert all(run.hit(target(arm, 0.0)).reached for run in arm)


def test_winners_of_the_same_slices_are_compared_by_their_neighbours() -> None:
    """The machine became slower half-way: medians say 16 times, each pair of neighbours twice."""
    one, other = measured("default", 1, 1, 1, 8, 8), measured("fast", 2, 2, 16, 16, 16)
    paired = pair_runs([one], [other], Criteria())
    assert paired.reference[0].final_s == 1.0
    assert paired.challenger[0].final_s == pytest.approx(2.0, rel=0.1)


def measured(strategy: str, *latencies_s: float) -> Run:
    """A run whose winner was measured again in one set of slices."""
    final = Remeasurement(0, "ok", latencies_s, sets=(0,) * len(latencies_s))
    return replace(make_run(strategy=strategy), final=final)


def test_a_run_without_a_final_measurement_is_paired_as_it_is() -> None:
    one = measured("default", 1, 1, 1, 8, 8)
    paired = pair_runs([one], [make_run(strategy="fast")], Criteria())
    assert paired.challenger[0].final_s == math.inf
