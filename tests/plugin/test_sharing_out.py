"""Cases and repeats shared out among machines: all of them once, evenly, the same anywhere."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.plugin.shards import PlannedCase, recorded_repeat_s, share_out
from tests.synthetic import make_case_result, make_result, make_run


@st.composite
def sessions(draw: st.DrawFn) -> list[PlannedCase]:
    return [
        PlannedCase(
            name=f"case{place}",
            seeds=tuple(range(draw(st.integers(0, 9)), draw(st.integers(10, 15)))),
            repeat_s=draw(st.just(1.0) | st.floats(0.5, 1e4)),  # ties are what orders decide
            divisible=draw(st.booleans()),
        )
        for place in range(draw(st.integers(0, 8)))
    ]


def seconds(part: dict[str, tuple[int, ...]], cases: list[PlannedCase]) -> float:
    repeat_s = {case.name: case.repeat_s for case in cases}
    return sum(repeat_s[name] * len(seeds) for name, seeds in part.items())


@given(sessions(), st.integers(1, 9))
def test_every_repeat_is_in_one_part(cases: list[PlannedCase], count: int) -> None:
    parts = share_out(cases, count)
    assert len(parts) == count
    given_out = Counter((name, seed) for part in parts for name in part for seed in part[name])
    assert given_out == Counter((case.name, seed) for case in cases for seed in case.seeds)


@given(sessions(), st.integers(1, 9), st.data())
def test_parts_are_the_same_in_whatever_order_tests_were_collected(
    cases: list[PlannedCase], count: int, data: st.DataObject
) -> None:
    other_order = data.draw(st.permutations(cases))
    assert share_out(other_order, count) == share_out(cases, count)


@given(sessions(), st.integers(1, 9))
def test_what_cannot_be_divided_stays_together(cases: list[PlannedCase], count: int) -> None:
    parts = share_out(cases, count)
    for case in cases:
        if not case.divisible:
            assert [part[case.name] for part in parts if case.name in part] == [case.seeds]


@given(sessions(), st.integers(1, 9))
def test_no_part_takes_much_longer_than_an_even_share(cases: list[PlannedCase], count: int) -> None:
    total_s = sum(case.repeat_s * len(case.seeds) for case in cases)
    blocks_s = [case.repeat_s * (1 if case.divisible else len(case.seeds)) for case in cases]
    longest_s = max((seconds(part, cases) for part in share_out(cases, count)), default=0.0)
    assert longest_s <= total_s / count + max(blocks_s, default=0.0) + 1e-6


def test_repeats_that_cost_the_same_stay_together() -> None:
    cases = [PlannedCase(name, (0, 1), 1.0, divisible=True) for name in "abc"]
    assert share_out(cases, 3) == [
        {"a": (0,), "c": (0,)},
        {"a": (1,), "c": (1,)},
        {"b": (0, 1)},
    ]
    assert share_out(cases, 1) == [{"a": (0, 1), "b": (0, 1), "c": (0, 1)}]


def test_seconds_of_a_repeat_are_those_of_all_arms() -> None:
    slow = [make_run(seed=seed, seconds_per_trial=3.0) for seed in range(2)]
    fast = [make_run(strategy="fast", seed=seed, seconds_per_trial=1.0) for seed in range(2)]
    result = make_result(make_case_result(reference=slow, challengers={"fast": fast}))
    assert recorded_repeat_s(result) == {"conv2d": 12.0 + 4.0}
