"""Searches that are ahead on the way and never arrive."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.stats.goal import MEDIAN, Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.stall import chance_of_stall, early_only, turning_point
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run

#: Throughputs of a run, one a trial: it gets better to its end.
STEPS = np.linspace(1.0, 10.0, 16)


def arm(strategy: str, seconds: float, cap: float, repeats: int = 6) -> list[Trajectory]:
    """Runs whose throughputs differ a little, and stop at a cap."""
    rng = np.random.default_rng(len(strategy))
    found = []
    for seed in range(repeats):
        throughputs = np.minimum(STEPS * rng.lognormal(0, 0.03), cap)
        latencies = (1.0 / throughputs).tolist()
        run = make_run(strategy=strategy, seed=seed, latencies=latencies, seconds_per_trial=seconds)
        found.append(Trajectory.of(run))
    return found


def paired(seconds: float, cap: float, goal: Goal = Goal()) -> PairedRuns:  # noqa: B008
    return PairedRuns(arm("default", 1.0, 100.0), arm("fast", seconds, cap), goal, 0.01)


def test_a_search_that_stalls_is_found_out() -> None:
    stalled = paired(0.5, 8.0)
    assert chance_of_stall(stalled) == 1 / 924
    found = early_only(stalled, "search_s", 0.9)
    assert found is not None
    assert found.turn == pytest.approx(0.78, abs=0.06)  # from 1 to 10, so 8 is there


def test_a_search_that_is_twice_as_fast_to_its_end_is_not() -> None:
    assert chance_of_stall(paired(0.5, 100.0)) > 0.15
    assert early_only(paired(0.5, 100.0), "search_s", 0.9) is None


def test_one_target_has_no_way() -> None:
    assert early_only(paired(0.5, 8.0, MEDIAN), "search_s", 0.9) is None


def test_ahead_all_the_way_has_no_turning_point() -> None:
    assert turning_point(paired(0.5, 100.0), "search_s", 0.9) is None


def test_behind_all_the_way_turns_at_the_first_rung() -> None:
    assert turning_point(paired(2.0, 100.0), "search_s", 0.9) == pytest.approx(0.1, abs=0.02)


def test_the_same_runs_are_as_far() -> None:
    same = arm("default", 1.0, 100.0)
    assert chance_of_stall(PairedRuns(same, same, Goal(), 0.01)) > 0.5


def test_runs_without_a_kernel_are_the_furthest_behind() -> None:
    lost = [Trajectory.of(make_run(strategy="fast", latencies=[None] * 4)) for _ in range(6)]
    assert chance_of_stall(PairedRuns(arm("default", 1.0, 100.0), lost, Goal(), 0.01)) == 1 / 924


def test_nothing_that_differs_is_no_sign() -> None:
    alike = [Trajectory.of(make_run(seed=seed)) for seed in range(4)]
    assert chance_of_stall(PairedRuns(alike, alike, Goal(), 0.01)) == 1.0
