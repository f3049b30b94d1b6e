"""One arm in figures."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.stats.compare import summarize_arm
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


def arm_of(*runs):  # type: ignore[no-untyped-def]
    return [Trajectory.of(run) for run in runs]


def test_an_arm_without_a_target_has_no_time_to_it() -> None:
    arm = summarize_arm(arm_of(make_run(final=2.0), make_run(seed=1, final=0.5)), None)
    assert (arm.reached, arm.time_to_target_s, arm.trials_to_target) == (0, math.inf, math.inf)
    assert arm.throughput_gflops == pytest.approx(1.0)


def test_a_run_without_a_measured_winner_counts_as_throughput_0() -> None:
    arm = summarize_arm(arm_of(make_run(final=2.0), make_run(seed=1)), 1.0)
    assert arm.throughput_gflops == 0.0


@pytest.mark.parametrize("runs", [[], [make_run(), make_run(strategy="fast")]])
def test_an_arm_is_one_strategy(runs: list) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match="expected runs of exactly one strategy"):
        summarize_arm(arm_of(*runs), 1.0)
