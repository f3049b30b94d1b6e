"""The sketch policy on made-up throughputs: when it explores, commits and changes its mind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import ExploreThenCommit


def play(policy, rounds, sketches=3):
    """Shares before each round and after the last, for rounds of {sketch: throughputs}."""
    chooser = policy.start(sketches)
    shares = [chooser.shares()]
    for trials in rounds:
        of_trial = [sketch for sketch, values in trials.items() for _ in values]
        chooser.observe(of_trial, [value for values in trials.values() for value in values])
        shares.append(chooser.shares())
    return chooser, shares


GOOD_TWO = {0: [1.0], 1: [2.0], 2: [9.0]}


def test_warm_up_and_exploration_are_uniform_and_the_fifth_round_commits():
    _, shares = play(ExploreThenCommit(), [GOOD_TWO] * 4)
    for before in shares[:4]:
        np.testing.assert_allclose(before, 1 / 3)
    assert shares[4].argmax() == 2
    np.testing.assert_allclose(shares[4], [0.1 / 3, 0.1 / 3, 0.9 + 0.1 / 3])


def test_what_the_warm_up_saw_is_not_held_against_a_sketch():
    misleading = {0: [100.0], 1: [0.0], 2: [0.0]}
    _, shares = play(ExploreThenCommit(), [misleading] * 3 + [GOOD_TWO])
    assert shares[4].argmax() == 2


def test_a_wrong_commitment_is_corrected():
    first_impression = {0: [9.0], 1: [2.0], 2: [3.0]}
    truth = {0: [1.0, 1.0], 2: [5.0]}
    _, shares = play(ExploreThenCommit(), [GOOD_TWO] * 3 + [first_impression] + [truth] * 3)
    committed = [int(share.argmax()) for share in shares[4:]]
    assert committed[0] == 0
    assert committed[-1] == 2


def test_history_weighs_as_much_as_it_is_told():
    policy = ExploreThenCommit(warmup_rounds=0, history_weight=0.75)
    chooser, _ = play(policy, [{0: [8.0]}, {0: [0.0, 8.0]}])
    assert chooser.decisions()["mean_gflops"][0] == 0.75 * 8 + 0.25 * 4


def test_failed_trials_count_as_no_throughput():
    policy = ExploreThenCommit(warmup_rounds=0)
    _, shares = play(policy, [{0: [10.0, 0.0, 0.0, 0.0], 1: [4.0, 4.0]}])
    assert shares[-1].argmax() == 1


def test_nothing_measured_commits_to_nothing():
    _, shares = play(ExploreThenCommit(warmup_rounds=0, explore_rounds=0), [{}, {}])
    np.testing.assert_allclose(shares, 1 / 3)


def test_a_program_from_no_sketch_speaks_for_none():
    policy = ExploreThenCommit(warmup_rounds=0)
    _, shares = play(policy, [{0: [2.0], 2: [1.0], -1: [99.0]}])
    assert shares[-1].argmax() == 0


def test_decisions_name_the_phase_and_what_was_committed_to():
    chooser, _ = play(ExploreThenCommit(), [GOOD_TWO] * 5)
    decisions = chooser.decisions()
    assert (decisions["phase"], decisions["committed_sketch"]) == ("exploit", 2)


@given(
    st.integers(1, 5),
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1e4)), max_size=6), max_size=10),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_shares_are_always_a_distribution(sketches, rounds, weight, explore):
    policy = ExploreThenCommit(history_weight=weight, explore_share=explore)
    chooser = policy.start(sketches)
    for trials in rounds:
        inside = [(sketch, gflops) for sketch, gflops in trials if sketch < sketches]
        chooser.observe([sketch for sketch, _ in inside], [gflops for _, gflops in inside])
        shares = chooser.shares()
        assert shares.shape == (sketches,)
        assert (shares >= explore / sketches - 1e-12).all()
        assert shares.sum() == pytest.approx(1.0)
