"""The t distribution against tabulated values and its own limits."""

from __future__ import annotations

from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.student import central_probability, t_quantile


@pytest.mark.parametrize(
    ("confidence", "degrees", "tabulated"),
    # Abramowitz and Stegun, table 26.10.
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 3, 3.182),
        (0.95, 4, 2.776),
        (0.95, 9, 2.262),
        (0.95, 30, 2.042),
        (0.99, 5, 4.032),
        (0.5, 1, 1.0),
        (0.8, 6, 1.440),
    ],
)
def test_quantiles_are_the_tabulated_ones(confidence, degrees, tabulated):
    assert t_quantile(confidence, degrees) == pytest.approx(tabulated, abs=6e-4)


def test_without_degrees_of_freedom_there_is_no_quantile():
    with pytest.raises(ValueError, match="expected at least 1"):
        t_quantile(0.95, 0)


def test_many_degrees_make_a_normal_distribution():
    assert t_quantile(0.95, 100_000) == pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-4)


@given(st.floats(0.01, 0.999), st.integers(1, 60))
def test_quantile_and_probability_are_inverse(confidence, degrees):
    assert central_probability(t_quantile(confidence, degrees), degrees) == pytest.approx(
        confidence, rel=1e-8
    )
