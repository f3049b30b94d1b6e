"""The goal as users write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import Goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("median", Goal()),
        (" median ", Goal()),
        ("90%", Goal("gain", 0.9)),
        ("100%", Goal("gain", 1.0)),
        ("200", Goal("gflops", 200.0)),
        ("1e-3", Goal("gflops", 0.001)),
    ],
)
def test_goals_are_parsed(text: str, goal: Goal) -> None:
    assert Goal.parse(text) == goal


@pytest.mark.parametrize("text", ["", "mean", "0%", "101%", "-1", "nan", "inf", "%", "nan%", "0"])
def test_other_goals_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected median, a share .* such as 90%, or GFLOP/s"):
        Goal.parse(text)


@given(st.sampled_from([Goal()]) | st.builds(Goal, st.just("gflops"), st.floats(1e-9, 1e9)))
def test_parse_and_format_are_inverse(goal: Goal) -> None:
    assert Goal.parse(str(goal)) == goal


@given(st.integers(1, 1000))
def test_shares_are_formatted_as_they_are_typed(permille: int) -> None:
    goal = Goal.parse(f"{permille / 10:g}%")
    assert str(goal) == f"{permille / 10:g}%"
    assert Goal.parse(str(goal)) == goal
