"""First hitting of a target."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Run, TaskRecord
from pytest_ansorbench.stats.trajectory import Hit, Trajectory
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


NETWORK_TRIALS = st.lists(
    st.tuples(st.integers(0, 2), st.none() | st.floats(1e-3, 1e3)), min_size=1, max_size=30
)


def network_run(trials) -> Run:
    """A run over three tasks, one trial a round: (task, latency) each."""
    run = make_run(latencies=[latency for _, latency in trials], round_trials=1)
    tasks = tuple(TaskRecord(f"task{i}", i + 1, 10, ()) for i in range(3))
    rounds = tuple(
        dataclasses.replace(each, task=task)
        for each, (task, _) in zip(run.rounds, trials, strict=True)
    )
    return dataclasses.replace(run, tasks=tasks, rounds=rounds)


@given(NETWORK_TRIALS)
def test_a_network_is_as_fast_as_the_weighted_sum_of_its_tasks_best(trials) -> None:
    run = network_run(trials)
    trajectory = Trajectory.of(run)
    best = [math.inf] * 3
    improvements = []
    for index, (task, latency) in enumerate(trials):
        best[task] = min(best[task], latency or math.inf)
        estimate = math.fsum((i + 1) * b for i, b in enumerate(best))
        if estimate < (improvements[-1][1] if improvements else math.inf):
            improvements.append((index + 1.0, estimate))
    assert trajectory.trials[:-1].tolist() == [at for at, _ in improvements]
    np.testing.assert_allclose(trajectory.latency_s, [estimate for _, estimate in improvements])
    expected = run.estimated_s
    assert trajectory.best_s == (math.inf if expected is None else pytest.approx(expected))


def test_the_weight_of_an_only_task_counts() -> None:
    run = make_run(latencies=[4.0, 2.0])
    heavy = dataclasses.replace(run, tasks=(dataclasses.replace(run.tasks[0], weight=3),))
    assert Trajectory.of(heavy).latency_s.tolist() == [12.0, 6.0]
    assert heavy.estimated_s == 6.0
