"""What a last check does to the figures of a run."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.codec import from_json, to_json
from pytest_ansorbench.records import LastRanking, Run, TaskRanking
from pytest_ansorbench.stats.compare import summarize_arm
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run, make_slices


def checked(crowned, leads):
    """Trials of 4, 3, 2 and 2.1 s, a second each; the check took half a second."""
    ranking = TaskRanking(0, (make_slices(2, [2.5] * 2), make_slices(3, [2.0] * 2)), crowned)
    return dataclasses.replace(
        make_run(latencies=(4.0, 3.0, 2.0, 2.1)),
        final=make_slices(crowned, [2.0] * 2),
        last_check=LastRanking(0.5, (ranking,)),
        leads=tuple(make_slices(trial, [latency_s] * 2) for trial, latency_s in leads.items()),
    )


LEADS = {0: 4.0, 1: 3.0, 2: 2.5, 3: 2.0}


def test_a_checks_seconds_are_search_time():
    assert make_run(latencies=(1.0, 2.0)).search_s == 2.0
    run = checked(3, LEADS)
    assert run.search_s == summarize_arm([Trajectory.of(run)], None).search_s == 4.5


def test_the_crowned_trial_wins():
    assert checked(3, LEADS).best_trials[0].index == 3
    assert checked(3, LEADS).estimated_s == 2.1
    assert checked(2, LEADS).best_trials[0].index == 2


def test_what_was_crowned_counts_from_the_end_on():
    seen = Trajectory.of(checked(3, LEADS))
    assert seen.latency_s.tolist() == pytest.approx([4.0, 3.0, 2.5, 2.0])
    assert seen.search_s.tolist() == [1.0, 2.0, 3.0, 4.5, 4.5]
    assert seen.trials.tolist() == [1, 2, 3, 4, 4]
    assert seen.hit(2.2).search_s == 4.5


def test_a_leader_that_is_confirmed_counts_from_its_trial_on():
    seen = Trajectory.of(checked(2, {0: 4.0, 1: 3.0, 2: 2.0}))
    assert seen.latency_s.tolist() == pytest.approx([4.0, 3.0, 2.0])
    assert seen.search_s.tolist() == [1.0, 2.0, 3.0, 4.5]


def test_believed_progress_is_that_of_the_trials():
    seen = Trajectory.of(checked(3, LEADS), "believed")
    assert seen.latency_s.tolist() == [4.0, 3.0, 2.0]


def test_it_is_written_and_read():
    run = checked(3, LEADS)
    assert from_json(Run, to_json(run)) == run
