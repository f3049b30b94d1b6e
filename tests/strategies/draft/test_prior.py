"""How much measurements of other tasks count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies import BoostedTrees, Prior
from pytest_ansorbench.strategies.draft.prior import Weighed

LOGS = st.floats(-6.0, 6.0)
TRIALS = st.lists(st.tuples(LOGS, st.none() | LOGS), max_size=60)
SEEDS = range(10)


class Halving:
    """Predicts by a column, without having learnt anything."""

    def __init__(self, column=0):
        self.column = column

    def predict(self, rows):
        return 0.5 ** rows[:, self.column].astype(np.float64)


def told(logs):
    """Promises and throughput by their logarithms to base 2, None for a failed trial."""
    return [(2.0**one, 0.0 if other is None else 2.0**other) for one, other in logs]


def searched(truth, *, seed, trials=48, alone=0.4, noise=0.5):
    """Trials of a search of a made-up task, each the best of 40 points.

    A share `alone` of them goes by what the task itself has shown, a tenth by nothing, the rest by
    what others promise.

    Args:
        truth: Slope of the logarithm of throughput by the promised one.
    """
    rng = np.random.default_rng(seed)
    logs = []
    for way in rng.choice(3, trials, p=[0.9 - alone, alone, 0.1]):
        promised, off, blur, chance = rng.normal(size=(4, 40))
        measured = truth * promised + noise * off
        best = [promised, measured + blur, chance][way].argmax()
        logs.append((float(promised[best]), float(measured[best])))
    return logs


def test_a_prior_fades_with_the_tasks_own_trials():
    rows = np.array([[0.0], [2.0]], dtype=np.float32)
    policy = Prior(fading_trials=16)
    np.testing.assert_allclose(policy.faded(Halving(), 0).predict(rows), [1.0, 0.25])
    np.testing.assert_allclose(policy.faded(Halving(), 16).predict(rows), [1.0, 0.5])
    np.testing.assert_allclose(policy.faded(Halving(), 10**9).predict(rows), [1.0, 1.0], rtol=1e-6)


@given(TRIALS, st.randoms())
def test_a_weight_is_a_share_in_whatever_order_and_units(logs, random):
    weight = Prior().weight(told(logs))
    assert 0.0 <= weight <= 1.0
    shuffled = random.sample(logs, len(logs))
    assert Prior().weight(told(shuffled)) == pytest.approx(weight, abs=1e-6)
    scaled = [(3.0 * one, 700.0 * other) for one, other in told(logs)]
    assert Prior().weight(scaled) == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("logs", [[], [(0.0, None), (-3.0, None)], [(-1.0, -2.0)]])
def test_others_count_in_full_while_nothing_speaks_against_them(logs):
    assert Prior().weight(told(logs)) == 1.0


def test_the_weight_is_a_slope_with_trials_to_the_others_credit():
    doubled = [(0.0, -1.0), (2.0, -1.0)] * 2  # four trials, a factor of two off their mean each
    assert Prior(credit=4.0).weight(told(doubled)) == pytest.approx(0.5)
    halved = [(0.0, -1.0), (2.0, 0.0)] * 50
    assert Prior(credit=4.0).weight(told(halved)) == pytest.approx((4.0 + 50.0) / (4.0 + 100.0))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_right_keeps_its_weight_and_the_opposite_loses_it(seed):
    # Over 400 seeds the first is 0.67 or more, the last 0.09 or less.
    assert Prior().weight(told(searched(1.0, seed=seed))) > 0.5
    assert Prior().weight(told(searched(-1.0, seed=seed))) == 0.0
    assert Prior().weight(told(searched(0.0, seed=seed))) < 0.2


def test_others_whose_picks_are_all_alike_are_not_blamed_for_it():
    runs = [searched(1.0, seed=seed, alone=0.0, noise=1.0) for seed in range(20)]
    picks = [[one for one in run if one[0] > 1.0] for run in runs]
    of_picks, of_all = (
        np.mean([np.corrcoef(np.transpose(one))[0, 1] for one in several])
        for several in (picks, runs)
    )
    assert of_picks < 0.5 < of_all
    assert np.mean([Prior().weight(told(one)) for one in picks]) > 0.7


def test_a_failed_trial_that_was_promised_to_be_fast_speaks_against_others():
    logs = searched(1.0, seed=0)
    promised = max(one for one, _ in logs)
    weights = [Prior().weight(told([*logs, *[(promised, None)] * failed])) for failed in (0, 4, 16)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[2] + 0.3  # over 200 seeds 0.56 or more


def test_a_guess_takes_the_place_that_others_lose():
    rows = np.array([[0.0, 1.0], [2.0, 0.0]], dtype=np.float32)
    others, guess = Halving(0), Halving(1)
    for weight, expected in ((1.0, [1.0, 0.25]), (0.0, [0.5, 1.0]), (0.5, [0.5**0.5, 0.5])):
        np.testing.assert_allclose(Weighed(others, guess, weight).predict(rows), expected)
    np.testing.assert_allclose(Weighed(others, None, 0.5).predict(rows), [1.0, 0.5])
    for whole, one in ((1.0, others), (0.0, guess)):  # nothing changes, to the last bit
        exact = Weighed(others, guess, whole).predict(rows)
        np.testing.assert_array_equal(exact, one.predict(rows))


def test_trees_that_begin_with_a_prior_keep_what_it_knows_and_mend_what_it_gets_wrong():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, (40, 2)).astype(np.float32)
    truth = 0.5 ** rows[:, 0] * 0.8 ** rows[:, 1]
    seen = rows[:, 0] <= 1.0  # the prior alone knows of the others
    fitted = [
        BoostedTrees(floor=1.0).fit(
            rows[seen], truth[seen] / truth[seen].max(), np.ones(seen.sum()), 0, prior
        )
        for prior in (Halving(), None)
    ]
    errors = [np.log(model.predict(rows) / truth) for model in fitted]
    with_prior, without = (float(np.std(error)) for error in errors)
    assert with_prior < 0.2 < without


def test_too_few_trials_make_no_model_with_a_prior_either():
    rows = np.zeros((3, 1), dtype=np.float32)
    assert BoostedTrees(least=8).fit(rows, np.ones(3), np.ones(3), 0, Halving()) is None
