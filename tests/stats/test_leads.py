"""Leads measured again: what a run had really found, and when."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Remeasurement, Run, TaskRecord
from pytest_ansorbench.stats.compare import compare
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.paired_runs import pair_runs
from pytest_ansorbench.stats.trajectory import Trajectory, lead_latencies_s
from tests.synthetic import make_run, make_slices

BELIEVED = Criteria(progress="believed")


def confirmed(run: Run, latencies_s: dict[int, float], final_s: float | None = None) -> Run:
    """The run with leads of such latencies, three slices of each."""
    leads = tuple(make_slices(trial, [latency_s] * 3) for trial, latency_s in latencies_s.items())
    final = run.final if final_s is None else make_slices(0, [final_s] * 3)
    return dataclasses.replace(run, leads=leads, final=final)


def test_a_lead_that_was_luck_changes_nothing() -> None:
    run = make_run(latencies=[4.0, 3.0, 2.0, 1.0])
    way = Trajectory.of(confirmed(run, {0: 4.0, 1: 3.0, 2: 3.5, 3: 2.5}))
    assert way.latency_s.tolist() == [4.0, 3.0, 2.5]
    assert way.trials.tolist() == [1, 2, 4, 4]
    assert Trajectory.of(run).latency_s.tolist() == [4.0, 3.0, 2.0, 1.0]
    assert Trajectory.of(confirmed(run, {3: 2.5}), "believed").latency_s.tolist() == [4, 3, 2, 1]


def test_progress_ends_where_the_final_measurement_says() -> None:
    run = confirmed(make_run(latencies=[4.0, 2.0]), {0: 5.0, 1: 2.5}, final_s=3.0)
    way = Trajectory.of(run)
    assert way.final_s == 3.0
    assert way.latency_s.tolist() == pytest.approx([6.0, 3.0])
    assert way.ending_at(1.5).latency_s.tolist() == pytest.approx([3.0, 1.5])


def test_without_a_final_measurement_leads_keep_their_own_latencies() -> None:
    run = confirmed(make_run(latencies=[4.0, 2.0]), {0: 5.0, 1: 2.5})
    way = Trajectory.of(run)
    assert math.isinf(way.final_s)
    assert way.latency_s.tolist() == [5.0, 2.5]


def test_a_lead_that_failed_changes_nothing() -> None:
    run = confirmed(make_run(latencies=[4.0, 2.0]), {0: 5.0})
    failed = Remeasurement(1, "wrong-result", (), "planted")
    run = dataclasses.replace(run, leads=(*(run.leads or ()), failed))
    assert Trajectory.of(run).latency_s.tolist() == [5.0]


def test_a_run_without_leads_has_no_confirmed_progress() -> None:
    lost = dataclasses.replace(make_run(latencies=[None]), leads=())
    assert len(Trajectory.of(lost).latency_s) == 0
    assert Trajectory.of(lost).hit(1.0).search_s == lost.search_s


@given(
    st.lists(st.floats(0.5, 2.0), min_size=3, max_size=9),
    st.floats(0.1, 10.0),
)
def test_leads_go_by_their_ratio_to_the_winner(drift: list[float], ratio: float) -> None:
    """A drift that meets both alike leaves no trace in the ratio."""
    run = make_run(latencies=[4.0, 2.0])
    leads = make_slices(0, [ratio * d for d in drift]), make_slices(1, drift)
    latencies_s = lead_latencies_s(dataclasses.replace(run, leads=leads))
    assert latencies_s[1] == pytest.approx(float(np.median(drift)))
    assert latencies_s[0] / latencies_s[1] == pytest.approx(ratio)


def test_a_network_is_estimated_from_its_confirmed_tasks() -> None:
    run = make_run(latencies=[4.0, 2.0, 3.0, 1.0])
    rounds = tuple(dataclasses.replace(round_, task=task) for task, round_ in enumerate(run.rounds))
    tasks = (TaskRecord("one", 2, 1, ()), TaskRecord("two", 1, 1, ()))
    run = dataclasses.replace(run, rounds=rounds, tasks=tasks)
    believed = Trajectory.of(run)
    assert believed.latency_s.tolist() == [7.0, 5.0]
    run = confirmed(run, {0: 5.0, 1: 3.0, 2: 4.0, 3: 2.0}, final_s=16.0)
    way = Trajectory.of(run)
    # 2 * 3 + 4 and 2 * 3 + 2, and the network itself takes twice that.
    assert way.latency_s.tolist() == pytest.approx([20.0, 16.0])
    assert way.trials.tolist() == [3, 4, 4]


def test_arms_are_compared_by_confirmed_progress_only_if_both_have_it() -> None:
    reference = [make_run(seed=s, latencies=[4.0, 2.0], final=2.0) for s in range(3)]
    fast = [make_run(strategy="fast", seed=s, latencies=[1.0, 1.0], final=4.0) for s in range(3)]
    both = [[confirmed(run, {0: 4.0, 1: 2.0}) for run in reference]]
    both.append([confirmed(run, {0: 4.0}) for run in fast])
    criteria = Criteria(tolerance=0.0)
    assert compare(pair_runs(*both, criteria), 0.95).challenger.reached == 0
    assert compare(pair_runs(*both, BELIEVED), 0.95).challenger.reached == 3
    assert compare(pair_runs(reference, both[1], criteria), 0.95).challenger.reached == 3


def test_throughput_ratios_rest_on_neighbours() -> None:
    """Levels that differ by a drift between sets do not count, ratios within them do."""
    noisy = make_slices(3, [2.0, 2.0, 9.0], [1.0] * 3)
    quick = make_slices(3, [1.0] * 3, [0.5] * 3)
    reference, challenger = (
        [dataclasses.replace(make_run(strategy=name, seed=s), final=final) for s in range(3)]
        for name, final in (("default", noisy), ("fast", quick))
    )
    comparison = compare(pair_runs(reference, challenger, Criteria()), 0.95)
    assert comparison.throughput_ratio.value == pytest.approx(2.0)
    ratio = comparison.challenger.throughput_gflops / comparison.reference.throughput_gflops
    assert ratio == pytest.approx(2.0)


def test_optimism_is_what_the_search_did_not_see() -> None:
    runs = [make_run(seed=s, latencies=[4.0, 2.0], final=3.0) for s in range(2)]
    others = [make_run(strategy="fast", seed=s, latencies=[4.0], final=None) for s in range(2)]
    comparison = compare(pair_runs(runs, others, Criteria()), 0.95)
    assert comparison.reference.optimism == pytest.approx(1.5)
    assert comparison.challenger.optimism is None
