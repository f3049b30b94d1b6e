"""The goal as users write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import Goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("way", Goal()),
        ("way:25%", Goal(0.25)),
        (" way : 25% ", Goal(0.25)),
        ("90%", Goal(0.9, 0.9)),
        (" 100% ", Goal(1.0, 1.0)),
        ("200", Goal(1.0, 1.0, 200.0)),
        ("1e-3", Goal(1.0, 1.0, 0.001)),
    ],
)
def test_goals_are_parsed(text: str, goal: Goal) -> None:
    assert Goal.parse(text) == goal


@pytest.mark.parametrize(
    "text",
    [
        *["", "mean", "0%", "101%", "-1", "nan", "inf", "%", "nan%", "0", "90%:16", "200:1"],
        *["way:", "way:25", "way:0%", "way:100%", "way:25%:16", "way:nan%"],
    ],
)
def test_other_goals_are_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected way, or way:80% .* such as 90%, or as GFLOP/s such as 200"
    ):
        Goal.parse(text)


@given(
    st.sampled_from([Goal(), Goal(0.25), Goal(1.0, 1.0)])
    | st.builds(Goal, st.just(1.0), st.just(1.0), st.floats(1e-9, 1e9))
)
def test_parse_and_format_are_inverse(goal: Goal) -> None:
    assert Goal.parse(str(goal)) == goal


@given(st.integers(1, 1000))
def test_shares_are_formatted_as_they_are_typed(permille: int) -> None:
    goal = Goal.parse(f"{permille / 10:g}%")
    assert str(goal) == f"{permille / 10:g}%"
    assert goal.single
    assert Goal.parse(str(goal)) == goal
