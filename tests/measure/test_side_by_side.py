"""The effort of a measurement in turn: who runs when, and when it is enough."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios

PRECISION = 0.01
EFFORT = SideBySide(precision=PRECISION, turns=Span(10, 30), sets=Span(3, 5))
STEADY = (0.0,) * 10
SPREAD = (-0.1, 0.1) * 5
UNSURE = NeighbourRatios((SPREAD,) * 3)
SURE = NeighbourRatios((STEADY,) * 3)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_span_is_read_as_it_is_written(least, more):
    span = Span(least, least + more)
    assert Span.parse(str(span)) == span


@pytest.mark.parametrize(
    ("text", "span"), [("20:60", Span(20, 60)), ("30", Span(30, 30)), (" 1 : 2 ", Span(1, 2))]
)
def test_spans(text, span):
    assert Span.parse(text) == span


@pytest.mark.parametrize(
    "text",
    ["", ":", "1:", ":1", "0", "0:5", "60:20", "-1:2", "1.5", "1e3", "a:b", "1:2:3", "²", "1_0"],
)
def test_what_is_no_span_is_told_what_is(text):
    with pytest.raises(ValueError, match=r"a least and a most number, both from 1, e\.g\. 20:60"):
        Span.parse(text)


@pytest.mark.parametrize("ends", [(0, 1), (2, 1), (-2, -1)])
def test_a_span_is_in_order(ends):
    with pytest.raises(ValueError, match="a least and a most number"):
        Span(*ends)


@pytest.mark.parametrize("programs", range(1, 8))
def test_all_run_once_a_turn(programs):
    for turn in range(3 * programs):
        assert sorted(EFFORT.order(turn, programs)) == list(range(programs))


@pytest.mark.parametrize("programs", range(1, 8))
def test_the_mean_place_of_all_is_the_same_after_two_turns(programs):
    for turn in range(0, 4 * programs, 2):
        orders = [EFFORT.order(turn + i, programs) for i in range(2)]
        sums = {sum(order.index(who) for order in orders) for who in range(programs)}
        assert sums == {programs - 1}


@pytest.mark.parametrize("programs", range(1, 8))
@pytest.mark.parametrize("start", [0, 2, 8])
def test_all_are_first_and_last_equally_often(programs, start):
    orders = [EFFORT.order(start + turn, programs) for turn in range(2 * programs)]
    for end in (0, -1):
        ends = [order[end] for order in orders]
        assert [ends.count(who) for who in range(programs)] == [2] * programs


def test_three_programs_go_as_documented():
    orders = ["".join("ABC"[who] for who in EFFORT.order(turn, 3)) for turn in range(4)]
    assert orders == ["ABC", "CBA", "BCA", "ACB"]


def test_a_set_takes_the_least_even_if_all_is_known():
    assert not EFFORT.ends_set(9, [SURE], 0.0)
    assert EFFORT.ends_set(10, [SURE], 0.0)


def test_a_set_takes_the_most_if_nothing_is_known():
    assert not EFFORT.ends_set(29, [UNSURE], 0.0)
    assert EFFORT.ends_set(30, [UNSURE], 0.0)


def test_one_ratio_that_is_not_known_is_enough_to_go_on():
    assert EFFORT.ends_set(10, [SURE, SURE], 0.0)
    assert not EFFORT.ends_set(10, [SURE, UNSURE], 0.0)
    assert EFFORT.ends(3, [SURE, SURE], 0.0)
    assert not EFFORT.ends(3, [UNSURE, SURE], 0.0)


def test_without_another_program_the_least_is_enough():
    assert EFFORT.ends_set(10, [], 0.0)
    assert EFFORT.ends(3, [], 0.0)


def test_sets_share_what_a_set_may_miss():
    """Three sets that are known to the root of 3 times the precision make it together."""
    half_width = 0.99 * PRECISION * math.sqrt(3)
    enough = NeighbourRatios(((-half_width, half_width) * 5,))
    assert enough.last_half_width() > PRECISION
    assert EFFORT.ends_set(10, [enough], 0.0)
    three = NeighbourRatios(enough.logs * 3)
    assert three.half_width() < PRECISION
    assert EFFORT.ends(3, [three], 0.0)
    too_much = NeighbourRatios(((-1.02 * half_width, 1.02 * half_width) * 5,))
    assert not EFFORT.ends_set(10, [too_much], 0.0)


def test_sets_number_from_the_least_to_the_most():
    assert not EFFORT.ends(2, [SURE], 0.0)
    assert EFFORT.ends(3, [SURE], 0.0)
    assert not EFFORT.ends(4, [UNSURE], 0.0)
    assert EFFORT.ends(5, [UNSURE], 0.0)


def test_without_a_precision_it_takes_the_most():
    effort = replace(EFFORT, precision=0.0)
    assert not effort.ends_set(29, [SURE], 0.0)
    assert effort.ends_set(30, [SURE], 0.0)
    assert not effort.ends(4, [SURE], 0.0)
    assert effort.ends(5, [SURE], 0.0)


def test_when_its_time_is_up_it_ends_after_a_turn():
    effort = replace(EFFORT, most_s=7.0)
    assert not effort.ends_set(0, [], 8.0)
    assert not effort.ends_set(1, [UNSURE], 6.9)
    assert effort.ends_set(1, [UNSURE], 7.0)
    assert not effort.ends(1, [UNSURE], 6.9)
    assert effort.ends(1, [UNSURE], 7.0)


def test_when_it_has_taken_long_enough_it_ends_with_the_least():
    effort = replace(EFFORT, enough_s=7.0)
    assert not effort.ends_set(9, [UNSURE], 8.0)
    assert not effort.ends_set(10, [UNSURE], 6.9)
    assert effort.ends_set(10, [UNSURE], 7.0)
    assert not effort.ends(2, [UNSURE], 8.0)
    assert not effort.ends(3, [UNSURE], 6.9)
    assert effort.ends(3, [UNSURE], 7.0)
    assert not replace(effort, precision=0.0).ends_set(10, [SURE], 8.0)
    assert not replace(effort, precision=0.0).ends(3, [SURE], 8.0)


def test_samples_are_long_slices_with_rests_of_one_set():
    effort = SideBySide.of_samples(10)
    assert (effort.slice_ms, effort.rest_ms) == (100.0, 300.0)
    assert (effort.turns, effort.sets) == (Span(10, 10), Span(1, 1))
    assert effort.ends_set(10, [UNSURE], 0.0)
    assert effort.ends(1, [UNSURE], 0.0)


def test_conditions_are_json_and_tell_efforts_apart():
    effort = SideBySide()
    recorded = effort.conditions()
    assert json.loads(json.dumps(recorded, allow_nan=False)) == recorded
    assert recorded["turns"] == "15:60"
    changes = (
        {"slice_ms": 1.0},
        {"rest_ms": 1.0},
        {"precision": 0.1},
        {"turns": Span(1, 1)},
        {"sets": Span(1, 1)},
        {"most_s": 1.0},
        {"enough_s": 1.0},
    )
    for change in changes:
        assert replace(effort, **change).conditions() != recorded
