"""Expected running time and its laws; how often chance makes two of them differ as much."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.running_time_ratio import (
    expected_running_time,
    search_ratio_paper,
)
from pytest_ansorbench.stats.trajectory import Hit, Trajectory
from tests.synthetic import make_run

SPENT = st.floats(0.0, 1e6)
ARMS = st.lists(st.tuples(SPENT, st.booleans()), min_size=1, max_size=8)


def ert(arm: list[tuple[float, bool]]) -> float:
    return expected_running_time([Hit(reached, spent, 0) for spent, reached in arm], "search_s")


def test_misses_count_in_full() -> None:
    assert ert([(10.0, True), (20.0, True), (60.0, False)]) == 45.0


def test_no_hit_takes_forever() -> None:
    assert ert([(1.0, False)]) == math.inf
    assert ert([]) == math.inf


@given(ARMS, SPENT)
def test_a_censored_run_never_lowers_it(arm: list[tuple[float, bool]], spent: float) -> None:
    assert ert([*arm, (spent, False)]) >= ert(arm)


@given(ARMS, st.randoms(use_true_random=False))
def test_order_does_not_matter(arm: list[tuple[float, bool]], random: object) -> None:
    shuffled = list(arm)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ert(shuffled) == ert(arm)


@given(ARMS, st.sampled_from([0.25, 2.0, 1024.0]))
def test_it_has_the_unit_of_the_spending(arm: list[tuple[float, bool]], factor: float) -> None:
    assert ert([(spent * factor, hit) for spent, hit in arm]) == pytest.approx(ert(arm) * factor)


@given(
    st.lists(st.floats(1e-6, 1e3) | st.none(), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.01]),
)
def test_each_reference_run_reaches_its_own_target(
    best: list[float | None], tolerance: float
) -> None:
    runs = [Trajectory.of(make_run(seed=s, latencies=[one])) for s, one in enumerate(best)]
    found = search_ratio_paper(PairedRuns(runs, runs, Goal(1.0, 1.0), tolerance), 0.95)
    assert (found.value, found.bound) == ((1.0, "value") if any(best) else (0.0, "undefined"))
