"""The reference stopped early: what a challenger has to beat."""

from __future__ import annotations

import pytest

from pytest_ansorbench.stats.distribution import Truncation, truncate_reference
from pytest_ansorbench.stats.goal import MEDIAN
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


def cut(challenger: list[float | None], seconds: float = 1.0) -> Truncation | None:
    reference = [Trajectory.of(make_run(seed=s, latencies=[4.0, 2.0, 1.0])) for s in range(2)]
    fast = [
        Trajectory.of(
            make_run(strategy="fast", seed=s, latencies=challenger, seconds_per_trial=seconds)
        )
        for s in range(2)
    ]
    return truncate_reference(PairedRuns(reference, fast, MEDIAN, 0.0))


def test_the_reference_is_cut_where_the_challenger_arrives() -> None:
    assert cut([8.0, 1.0]) == Truncation(2.0, pytest.approx(0.5))
    assert cut([8.0, 1.0], seconds=1.5) == Truncation(3.0, pytest.approx(1.0))


def test_cut_before_its_first_kernel_it_has_nothing() -> None:
    assert cut([1.0], seconds=0.5) == Truncation(0.5, 0.0)


def test_a_challenger_that_never_arrives_sets_no_time() -> None:
    assert cut([8.0]) is None
