"""The goal as users write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import MEDIAN, Goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("way", Goal()),
        ("way:25%", Goal("way", 0.25)),
        (" way : 25% : 16 ", Goal("way", 0.25, 16)),
        ("median", MEDIAN),
        (" median ", MEDIAN),
        ("90%", Goal("gain", 0.9, 1)),
        ("100%", Goal("gain", 1.0, 1)),
        ("200", Goal("gflops", 200.0, 1)),
        ("1e-3", Goal("gflops", 0.001, 1)),
    ],
)
def test_goals_are_parsed(text: str, goal: Goal) -> None:
    assert Goal.parse(text) == goal


@pytest.mark.parametrize(
    "text",
    [
        *["", "mean", "0%", "101%", "-1", "nan", "inf", "%", "nan%", "0", "90%:16", "median:16"],
        *[
            "way:",
            "way:25",
            "way:0%",
            "way:100%",
            "way:25%:1",
            "way:25%:x",
            "way:25%:16:1",
            "way:nan%",
        ],
    ],
)
def test_other_goals_are_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"expected way, .* median, a share .* such as 90%, or GFLOP/s"
    ):
        Goal.parse(text)


@given(
    st.sampled_from([Goal(), Goal("way", 0.25, 16), MEDIAN])
    | st.builds(Goal, st.just("gflops"), st.floats(1e-9, 1e9), st.just(1))
)
def test_parse_and_format_are_inverse(goal: Goal) -> None:
    assert Goal.parse(str(goal)) == goal


@given(st.integers(1, 1000))
def test_shares_are_formatted_as_they_are_typed(permille: int) -> None:
    goal = Goal.parse(f"{permille / 10:g}%")
    assert str(goal) == f"{permille / 10:g}%"
    assert Goal.parse(str(goal)) == goal


def test_the_one_target_of_a_ladder_is_its_end() -> None:
    assert Goal().target == MEDIAN
    assert Goal.parse("90%").target == Goal.parse("90%")
