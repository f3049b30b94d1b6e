"""A candidate is made of a schedule, and payloads are checked when they are proposed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from pytest_ansorbench.strategies import BadAnswer, Candidate
from pytest_ansorbench.strategies.checked import checked_proposal
from tests.faults import module
from tests.test_codec import JSON_VALUES


@pytest.fixture
def schedule():
    from tvm.s_tir import Schedule

    return Schedule(module("fine"))


def propose(trials):
    """The method that a check would blame."""


def test_a_candidate_says_what_it_takes_to_run_it(schedule):
    candidate = Candidate.from_schedule(schedule)
    assert candidate.schedule.same_as(schedule)
    assert candidate.mod["main"].same_as(schedule.mod["main"])
    assert [tuple(arg.shape) for arg in candidate.args_info] == [(64,), (64,)]
    assert candidate.payload is None


def test_candidates_are_told_apart_even_if_they_are_alike(schedule):
    one, other = (Candidate.from_schedule(schedule, {"step": 1}) for _ in range(2))
    assert len({one, other}) == 2


@settings(deadline=None)  # the first program is parsed, which takes a second
@given(payload=JSON_VALUES)
def test_json_payloads_are_taken_as_they_are(payload):
    from tvm.s_tir import Schedule

    proposed = [Candidate.from_schedule(Schedule(module("fine")), payload)]
    [checked] = checked_proposal("mine", propose, proposed)
    assert checked.payload == payload
    assert checked.measure_candidate.same_as(proposed[0].measure_candidate)


def test_a_payload_is_copied_so_that_it_can_be_used_again(schedule):
    payload = {"steps": [1]}
    [checked] = checked_proposal("mine", propose, [Candidate.from_schedule(schedule, payload)])
    payload["steps"].append(2)
    assert checked.payload == {"steps": [1]}


def endless():
    payload = []
    payload.append(payload)
    return payload


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        (frozenset(), ""),
        ({1: 2}, ""),
        ({"x": {3}}, " at x"),
        ([0.0, float("nan")], r" at \[1\]"),
        ([float("inf")], r" at \[0\]"),
        (b"bytes", ""),
        (endless(), ""),
    ],
    ids=repr,
)
def test_other_payloads_are_refused_with_strategy_and_place(schedule, payload, where):
    proposed = [Candidate.from_schedule(schedule, payload)]
    with pytest.raises(BadAnswer, match=rf"bad payload of strategy 'mine', .*: .*{where}.*; JSON"):
        checked_proposal("mine", propose, proposed)


@pytest.mark.parametrize("kind", ["schedule", "number", "generator", "empty candidate"])
def test_what_is_no_candidate_is_refused(schedule, kind):
    proposed = {
        "schedule": [schedule],
        "number": 3,
        "generator": (candidate for candidate in ()),
        "empty candidate": [Candidate(None)],
    }[kind]
    with pytest.raises(
        BadAnswer, match=r"bad proposal .*'mine': expected a list of Candidate"
    ) as e:
        checked_proposal("mine", propose, proposed)
    assert e.value.method is propose


def test_none_ends_the_search_and_an_empty_round_does_not():
    assert checked_proposal("mine", propose, None) is None
    assert checked_proposal("mine", propose, []) == []
