"""Gates that are judged after each of several repeats."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_ansorbench.records import Gate, Run
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.judging import judge_arms
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.looks import Looks
from tests.synthetic import make_run

LOOKS = Criteria(looks=Looks(3, 12))


def gate(seconds: Sequence[float], limit: float = 0.9, criteria: Criteria = LOOKS) -> Gate:
    """The gate on S of a challenger that takes so many seconds a trial, seed by seed."""
    runs: list[Run] = []
    for seed, challenger in enumerate(seconds):
        runs.append(make_run(seed=seed, seconds_per_trial=1 + (seed % 5) / 20))
        runs.append(make_run("conv2d", "fast", seed, seconds_per_trial=challenger))
    [verdict] = judge_arms(
        ("default", "fast"), runs, criteria=criteria, limits=Limits({"search_ratio": limit})
    )
    return verdict.gates[0]


def test_a_plain_gain_is_settled_as_soon_as_counting_can_show_it() -> None:
    gains = [0.3 + seed / 100 for seed in range(12)]
    assert gate(gains[:4]).outcome == "undecided"
    assert gate(gains[:4]).open
    assert [gate(gains[:n]).outcome for n in range(5, 13)] == ["holds"] * 8
    assert gate(gains).repeats == 5


def test_what_follows_the_look_that_settles_a_gate_changes_nothing() -> None:
    gains = [0.3 + seed / 100 for seed in range(6)]
    assert gate([*gains, 9.0, 9.0, 9.0]) == gate(gains)


def test_a_plain_loss_is_broken_and_not_open() -> None:
    found = gate([3.0 + seed / 50 for seed in range(12)])
    assert (found.outcome, found.open) == ("broken", False)
    assert found.repeats < 12


def test_what_more_repeats_will_hardly_change_is_given_up() -> None:
    seconds = [0.9 * (1 + (seed % 5) / 20) * (1.2 if seed % 2 else 0.85) for seed in range(9)]
    found = gate(seconds)
    assert (found.outcome, found.open) == ("undecided", False)
    assert found.repeats < 9


def test_after_the_most_repeats_nothing_is_open() -> None:
    seconds = [0.75 * (1 + (seed % 5) / 20) * (1.6 if seed % 3 else 0.4) for seed in range(12)]
    assert not gate(seconds, criteria=Criteria(looks=Looks(3, 12))).open


def test_one_look_is_as_strict_as_none() -> None:
    gains = [0.55 + seed / 100 for seed in range(6)]
    once = gate(gains, criteria=Criteria())
    looked = gate(gains, criteria=Criteria(looks=Looks(6, 6)))
    assert looked.outcome == once.outcome
    assert looked.estimate.high == pytest.approx(once.estimate.high)


def test_a_look_of_many_asks_for_more_than_one() -> None:
    gains = [0.55 + seed / 100 for seed in range(6)]
    once, looked = gate(gains, criteria=Criteria()), gate(gains, limit=0.2)
    assert looked.estimate.high - looked.estimate.low >= once.estimate.high - once.estimate.low
