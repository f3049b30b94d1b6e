"""Expected running time and its laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.running_time_ratio import expected_running_time

SPENT = st.floats(0.0, 1e6)
ARMS = st.lists(st.tuples(SPENT, st.booleans()), min_size=1, max_size=8)


def ert(arm: list[tuple[float, bool]]) -> float:
    return expected_running_time([spent for spent, _ in arm], [reached for _, reached in arm])


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
