"""What unsure predictions make a point worth."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.strategies import (
    AutoTVM,
    Bagged,
    BoostedTrees,
    Chains,
    Draft,
    ExpectedImprovement,
    Mean,
    Neighbourhood,
    RankingTrees,
    UpperConfidenceBound,
)
from tests.strategies.draft.test_draft import search
from tests.strategies.point_searches import Hidden, design_space, searched

MEAN = np.array([0.2, 0.8, 1.1])
DEVIATION = np.array([0.5, 0.1, 0.3])


def test_the_expected_improvement_is_that_of_draws():
    draws = np.random.default_rng(0).normal(MEAN, DEVIATION, size=(200_000, 3))
    expected = np.maximum(draws - 1.0, 0.0).mean(axis=0)
    worth = ExpectedImprovement().worth(MEAN, DEVIATION, 1.0)
    np.testing.assert_allclose(worth, expected, atol=2e-3)
    sure = ExpectedImprovement().worth(MEAN, np.zeros(3), 1.0)
    np.testing.assert_allclose(sure, [0.0, 0.0, 0.1], atol=1e-9)


def test_a_bound_adds_deviations_and_a_mean_none():
    np.testing.assert_allclose(
        UpperConfidenceBound(2.0).worth(MEAN, DEVIATION, 1.0), [1.2, 1.0, 1.7]
    )
    assert Mean().worth(MEAN, DEVIATION, 1.0) is MEAN


def on_a_line(acquisition):
    """A model of noisy measurements below one half, asked below and above."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.0, 0.5, size=(60, 1)).astype(np.float32)
    throughput = 0.5 + rows[:, 0].astype(np.float64) + rng.normal(0.0, 0.05, size=60)
    policy = Bagged(RankingTrees("regression"), acquisition, members=8)
    model = policy.fit(rows, np.clip(throughput, 0.0, 1.0), np.ones(60), 0)
    return model.predict(np.linspace(0.0, 1.0, 11, dtype=np.float32)[:, np.newaxis])


def test_a_bag_is_as_unsure_as_its_members_differ():
    mean, bound = on_a_line(Mean()), on_a_line(UpperConfidenceBound(1.0))
    assert np.corrcoef(mean[:5], np.linspace(0.5, 0.9, 5))[0, 1] > 0.9
    assert (bound > mean).all()
    improvement = on_a_line(ExpectedImprovement())
    assert (improvement >= 0.0).all() and improvement[0] < 1e-3 < improvement[5]


def test_a_bag_waits_for_all_its_members():
    rows, throughput = np.zeros((4, 2), np.float32), np.array([1.0, 0.0, 0.0, 0.0])
    assert Bagged(BoostedTrees(least=8)).fit(rows, throughput, np.ones(4), 0) is None
    with pytest.raises(ValueError, match=r"bad acquisition .*: expected an object with a method"):
        Bagged(acquisition=3)


@pytest.mark.parametrize(
    "acquisition", [Mean(), ExpectedImprovement(), UpperConfidenceBound()], ids=repr
)
def test_searches_go_by_what_a_point_is_worth(target, acquisition):
    space = design_space(target)
    hidden = Hidden(space, 1)
    model = Bagged(RankingTrees("regression", trees=20), acquisition, members=3)
    tried, _ = searched(AutoTVM(model=model, chains=Chains(24, 24)), space, hidden, 160)
    assert hidden.best in {one.point for one in tried}


def test_draft_takes_a_bag_for_its_model(target):
    model = Bagged(BoostedTrees(trees=20), UpperConfidenceBound(), members=2)
    policy = Draft(model=model, neighbourhood=Neighbourhood(random=20, climbs=1, climbers=8))
    rounds, _, _ = search(target, policy, trials=24, round_trials=12)
    assert any(one.payload["predicted"] for one in rounds[-1])
