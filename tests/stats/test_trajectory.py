"""First hitting of a target."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Run
from pytest_ansorbench.stats import Hit, Trajectory
from tests.synthetic import make_run


def first_hit(run: Run, target_s: float) -> Hit:
    return Trajectory.of(run).hit(target_s)


def test_first_trial_at_least_as_fast_is_the_hit() -> None:
    run = make_run(latencies=[4.0, None, 2.0, 1.0], seconds_per_trial=0.5)
    assert first_hit(run, 2.0) == Hit(reached=True, search_s=1.5, trials=3)


def test_a_miss_counts_the_whole_run() -> None:
    run = make_run(latencies=[4.0, None, 2.0], seconds_per_trial=0.5)
    assert first_hit(run, 1.0) == Hit(reached=False, search_s=1.5, trials=3)


def test_an_infinite_target_takes_a_valid_trial() -> None:
    assert first_hit(make_run(latencies=[None, 9.0]), math.inf).trials == 2
    assert not first_hit(make_run(latencies=[None, None]), math.inf).reached


def test_a_run_without_trials_spent_nothing() -> None:
    assert first_hit(make_run(latencies=[]), 1.0) == Hit(reached=False, search_s=0, trials=0)


LATENCIES = st.lists(st.none() | st.floats(1e-3, 10.0), max_size=8)


@given(LATENCIES, st.lists(st.floats(1e-3, 10.0) | st.just(math.inf), min_size=1))
def test_many_targets_at_once_are_the_same_as_one_by_one(
    latencies: list[float | None], targets: list[float]
) -> None:
    run = make_run(latencies=latencies, seconds_per_trial=0.5)
    trajectory = Trajectory.of(run)
    spent, reached = trajectory.spent(np.array(targets), "search_s")
    trials, _ = trajectory.spent(np.array(targets), "trials")
    for i, target in enumerate(targets):
        good = [t for t in run.trials if t.latency_s is not None and t.latency_s <= target]
        expected = (good[0].search_s, good[0].index + 1) if good else (run.search_s, len(latencies))
        assert (spent[i], trials[i]) == expected
        assert bool(reached[i]) == bool(good)
