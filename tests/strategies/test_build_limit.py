"""How long a program may compile."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import BuildLimit

seconds = st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=40)


def test_before_anything_is_known_it_is_a_number_of_seconds():
    assert BuildLimit(first_s=7.0).limit_s([]) == 7.0
    assert BuildLimit(after=3).limit_s([0.1, 0.1]) == BuildLimit().first_s


@given(seconds, st.floats(0.01, 100.0))
def test_it_is_so_many_times_the_median_whatever_the_machine(build_s, slower):
    limit = BuildLimit(least_s=1e-9)
    assert limit.limit_s(build_s) == pytest.approx(32.0 * statistics.median(build_s))
    slowed = [slower * one for one in build_s]
    assert limit.limit_s(slowed) == pytest.approx(slower * limit.limit_s(build_s))


def test_what_compiles_at_once_may_take_longer_than_that():
    assert BuildLimit().limit_s([0.001] * 10) == 2.0


@given(seconds)
def test_a_few_that_were_given_up_do_not_raise_it(build_s):
    usual = [0.1] * (2 * len(build_s))
    assert BuildLimit().limit_s([*usual, *build_s]) <= 3.2 + 1e-9
