"""Limits of figures, and allowances for their changes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.judging import suite_limits
from pytest_ansorbench.stats.limits import Allowance, Limits

LIMITED = [key for key, figure in FIGURES.items() if figure.limit_word]


@pytest.mark.parametrize(
    "limit", [0.0, -1.0, math.nan, math.inf, 1e308, 5e-324, 10**400, "1", True, None]
)
def test_bad_limits_are_refused(limit: Any) -> None:
    for key in LIMITED:
        with pytest.raises(ValueError, match=f"bad limit of {key} .*: expected a ratio from 1e-6"):
            Limits({key: limit})


def test_limits_of_suites_are_numbers_in_settings() -> None:
    limits = suite_limits({"max_suite_search_ratio": 1, "min_suite_throughput_ratio": 0.9})
    assert limits == Limits({"search_ratio": 1.0, "throughput_ratio": 0.9})
    assert suite_limits({"max_suite_search_ratio": None}) == Limits({})
    for bad in (True, "0.9", 10**400):
        with pytest.raises(ValueError, match="bad setting max_suite_search_ratio"):
            suite_limits({"max_suite_search_ratio": bad})


@pytest.mark.parametrize("key", ["speed", "search_time"])
def test_a_figure_without_limits_is_refused(key: str) -> None:
    with pytest.raises(
        ValueError,
        match=f"bad figure '{key}': .* search_ratio, search_ratio_early, throughput_ratio",
    ):
        Limits({key: 1.0})


def test_limits_stand_in_order_of_the_table_however_they_were_given() -> None:
    one = Limits({"throughput_ratio": 0.98, "search_ratio": 0.75})
    assert list(one) == ["search_ratio", "throughput_ratio"]
    other = Limits({"search_ratio": 0.75, "throughput_ratio": 0.98})
    assert one == other
    assert hash(one) == hash(other)
    assert not Limits()


@pytest.mark.parametrize(
    ("text", "limit"),
    [("search_time:10%", 1.1), ("throughput:10%", 0.9), ("suite_search_ratio:0%", 1.0)],
)
def test_an_allowance_is_a_limit_of_the_change(text: str, limit: float) -> None:
    assert Allowance.parse(text).limit == limit


@given(st.sampled_from([key for key in FIGURES if FIGURES[key].per_case]), st.integers(0, 999))
def test_parse_and_format_are_inverse(metric: str, permille: int) -> None:
    text = f"{metric}:{permille / 10:g}%"
    assert str(Allowance.parse(text)) == text
    assert Allowance.parse(text) == Allowance(metric, pytest.approx(permille / 1000))


@pytest.mark.parametrize(
    "text",
    ["", "5%", "speed:5%", "search_ratio:5%", "throughput", "throughput:5", "throughput:100%"],
)
def test_a_bad_allowance_is_refused_with_a_good_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected METRIC:N% .*, e\.g\. throughput_ratio:3%"):
        Allowance.parse(text)
    with pytest.raises(ValueError, match="throughput_ratio"):
        Allowance.parse(text)
