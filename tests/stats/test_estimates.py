"""The geometric mean across cases."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Estimate
from pytest_ansorbench.stats.estimates import UNDEFINED, geometric_mean, is_plain

RATIOS = st.floats(1e-3, 1e3)


def plain(*values: float) -> list[Estimate]:
    return [Estimate(value, value, value) for value in values]


def test_a_half_and_a_double_cancel() -> None:
    mean = geometric_mean(plain(0.5, 2.0))
    assert mean == Estimate(pytest.approx(1.0), 0.0, math.inf)


def test_what_has_no_plain_figure_is_left_out() -> None:
    estimates = [
        *plain(0.25, 0.0, math.inf),
        Estimate(3.0, 1.0, math.inf, "at-least"),
        Estimate(0.1, 0.0, 0.2, "at-most"),
        Estimate(0.0, 0.0, math.inf, "undefined"),
    ]
    assert geometric_mean(estimates).value == pytest.approx(0.25)
    assert [is_plain(estimate) for estimate in estimates] == [True] + [False] * 5


def test_nothing_to_average_has_no_value() -> None:
    assert geometric_mean([]) == UNDEFINED
    assert geometric_mean(plain(0.0)) == UNDEFINED


@given(st.integers(1, 50))
def test_ones_average_to_exactly_one(count: int) -> None:
    assert geometric_mean(plain(*[1.0] * count)).value == 1.0


@given(st.lists(RATIOS, min_size=1))
def test_it_lies_between_the_extremes_and_inverts(values: list[float]) -> None:
    mean = geometric_mean(plain(*values)).value
    inverse = geometric_mean(plain(*[1 / value for value in values])).value
    assert min(values) * (1 - 1e-9) <= mean <= max(values) * (1 + 1e-9)
    assert mean * inverse == pytest.approx(1.0)
