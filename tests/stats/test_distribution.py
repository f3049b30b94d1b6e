"""Run-time distributions: who is ahead early, who late."""

from __future__ import annotations

import math

import pytest

from pytest_ansorbench.stats.distribution import Truncation, milestones, truncate_reference
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


def paired(reference: list[float], challenger: list[float]) -> PairedRuns:
    arms = [
        [Trajectory.of(make_run(strategy=name, seed=s, latencies=latencies)) for s in range(4)]
        for name, latencies in (("default", reference), ("fast", challenger))
    ]
    return PairedRuns(arms[0], arms[1], Goal(1.0, 1.0), 0.0)


def test_targets_climb_to_that_of_s() -> None:
    pair = paired([4.0, 2.0, 1.0], [4.0, 1.0])
    found = milestones(pair, 0.9)
    assert [milestone.share for milestone in found] == [0.5, 0.8, 0.95, 1.0]
    assert [milestone.target_gflops for milestone in found] == pytest.approx(
        [0.25 + share * 0.75 for share in (0.5, 0.8, 0.95, 1.0)]
    )
    assert found[-1].target_gflops == pytest.approx(1e-9 * pair.flops / pair.target_s)


def test_early_and_late_may_differ() -> None:
    found = milestones(paired([4.0, 4.0, 2.0, 1.0], [4.0, 1.4]), 0.9)
    early, late = found[0], found[-1]
    assert early.ratio.value == 2 / 4
    assert (early.challenger_s, early.challenger_reached) == (2.0, 4)
    assert (late.challenger_s, late.challenger_reached) == (math.inf, 0)
    assert late.ratio.bound == "at-least"
    assert (late.reference_s, late.reference_reached) == (4.0, 4)


def test_a_higher_share_never_takes_less_time() -> None:
    found = milestones(paired([8.0, 4.0, 3.0, 2.0, 1.0], [6.0, 3.0, 1.0]), 0.9)
    assert [milestone.reference_s for milestone in found] == sorted(
        milestone.reference_s for milestone in found
    )
    assert [milestone.challenger_s for milestone in found] == sorted(
        milestone.challenger_s for milestone in found
    )


def cut(challenger: list[float | None], seconds: float = 1.0) -> Truncation | None:
    reference = [Trajectory.of(make_run(seed=s, latencies=[4.0, 2.0, 1.0])) for s in range(2)]
    fast = [
        Trajectory.of(
            make_run(strategy="fast", seed=s, latencies=challenger, seconds_per_trial=seconds)
        )
        for s in range(2)
    ]
    return truncate_reference(PairedRuns(reference, fast, Goal(1.0, 1.0), 0.0))


def test_the_reference_is_cut_where_the_challenger_arrives() -> None:
    assert cut([8.0, 1.0]) == Truncation(2.0, pytest.approx(0.5))
    assert cut([8.0, 1.0], seconds=1.5) == Truncation(3.0, pytest.approx(1.0))


def test_cut_before_its_first_kernel_it_has_nothing() -> None:
    assert cut([1.0], seconds=0.5) == Truncation(0.5, 0.0)


def test_a_challenger_that_never_arrives_sets_no_time() -> None:
    assert cut([8.0]) is None
