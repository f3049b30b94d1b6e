"""How far outputs may be from their reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.workloads import Check
from pytest_ansorbench.workloads.tolerance import tolerance, typical_size

ROWS, TERMS = 64, 512
FLOATS = ["float32", "float16", "bfloat16"]


def product(dtype, accumulator, order=None):
    """Sums of `TERMS` products, one after the other in an order, and the same in float64."""
    rng = np.random.default_rng(0)
    left, right = (rng.uniform(-1, 1, (ROWS, TERMS)).astype(dtype) for _ in range(2))
    exact = (left.astype(float) * right.astype(float)).sum(axis=1)
    total = np.zeros(ROWS, accumulator)
    for term in range(TERMS) if order is None else order:
        total = (
            total + left[:, term].astype(accumulator) * right[:, term].astype(accumulator)
        ).astype(accumulator)
    return total.astype(dtype), exact


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("accumulator", FLOATS)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_sum_in_any_order_is_right(dtype, accumulator, reverse):
    output, exact = product(dtype, accumulator, range(TERMS)[:: -1 if reverse else 1])
    allowed = tolerance(exact, TERMS, dtype=dtype, accumulator=accumulator)
    assert mismatch([output], Check((), exact, *allowed)) == ""


@pytest.mark.parametrize(("dtype", "accumulator"), [("float32",) * 2, ("float16", "float32")])
def test_a_sum_that_lacks_a_tile_is_wrong(dtype, accumulator):
    output, exact = product(dtype, accumulator, range(TERMS - TERMS // 64))
    allowed = tolerance(exact, TERMS, dtype=dtype, accumulator=accumulator)
    assert mismatch([output], Check((), exact, *allowed)) != ""


@given(st.sampled_from(FLOATS), st.integers(1, 10**6))
def test_nothing_that_is_off_by_its_own_size_is_right(dtype, terms):
    relative, absolute = tolerance(np.ones(4, dtype), terms, accumulator=dtype)
    assert relative <= 0.5
    assert absolute <= 0.5


@given(st.integers(1, 1000), st.floats(1e-3, 1e3))
def test_the_absolute_tolerance_follows_the_size_of_the_output(terms, size):
    _, one = tolerance(np.ones(8, np.float32), terms)
    _, other = tolerance(np.full(8, size, np.float32), terms)
    assert other == pytest.approx(size * one, rel=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
def test_whole_numbers_are_exact(dtype):
    assert tolerance(np.ones(4, dtype), 512) == (0.0, 0.0)


def test_the_size_of_an_output_is_that_of_its_numbers():
    assert typical_size(np.array([3.0, -3.0, np.nan, np.inf])) == 3.0
    assert typical_size(np.array([np.nan])) == 0.0
