"""How much measurements of other tasks count."""

from __future__ import annotations

import numpy as np

from pytest_ansorbench.strategies import BoostedTrees, Prior


class Halving:
    """Predicts by the first column, without having learnt anything."""

    def predict(self, rows):
        return 0.5 ** rows[:, 0].astype(np.float64)


def test_a_prior_fades_with_the_tasks_own_trials():
    rows = np.array([[0.0], [2.0]], dtype=np.float32)
    policy = Prior(fading_trials=16)
    np.testing.assert_allclose(policy.faded(Halving(), 0).predict(rows), [1.0, 0.25])
    np.testing.assert_allclose(policy.faded(Halving(), 16).predict(rows), [1.0, 0.5])
    np.testing.assert_allclose(policy.faded(Halving(), 10**9).predict(rows), [1.0, 1.0], rtol=1e-6)


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
