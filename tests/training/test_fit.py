"""The classifier learns what there is to learn, and its scores say so."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ansorbench.training import FitSettings, LabelSettings, cross_predict, evaluate, fit
from tests.training.samples import RULES, make_samples

LABELS = LabelSettings()
QUICK = FitSettings(trees=40, depth=2, learning_rate=0.3, columns=1.0)


def scored(model, data):
    return evaluate(
        data, [model.predict(samples.features) for samples in data], LABELS, most_frequent=0
    )


@pytest.fixture(scope="module")
def model():
    return fit([make_samples(seed=1), make_samples("b", seed=2)], LABELS, QUICK)


def test_a_rule_that_shows_in_the_features_is_found(model):
    unseen = make_samples(seed=3)
    assert np.mean(model.predict(unseen.features) == unseen.features[:, 0]) > 0.9
    assert model.rules == RULES


def test_equal_data_give_an_equal_model(tmp_path):
    for name in ("a.ubj", "b.ubj"):
        fit([make_samples(seed=1)], LABELS, QUICK).save(tmp_path / name)
    assert (tmp_path / "a.ubj").read_bytes() == (tmp_path / "b.ubj").read_bytes()


def test_scores_lie_between_what_one_rule_gains_and_the_best_in_hindsight(model):
    scores = scored(model, [make_samples(seed=3)])
    assert scores.programs == 60
    assert scores.accuracy > 0.9 > scores.accuracy_most_frequent
    assert scores.gain_most_frequent < scores.gain <= scores.gain_best
    assert scores.gain_stock < scores.gain
    # Latencies were made of the scores, so that measuring can only agree.
    assert scores.measured == 8
    assert scores.measured_agreement == 1.0
    assert scores.measured_correlation == pytest.approx(1.0)


def test_workloads_that_no_rule_can_change_are_left_out(model):
    chain = make_samples("chain", mutable=False)
    assert scored(model, [make_samples(seed=3), chain]) == scored(model, [make_samples(seed=3)])
    with pytest.raises(ValueError, match="no mutation rule can change any"):
        scored(model, [chain])


def test_different_rules_cannot_be_learnt_together():
    import dataclasses

    other = dataclasses.replace(make_samples("b"), rules=("A", "B", "C", "D"))
    with pytest.raises(ValueError, match="expected samples with the same rules"):
        fit([make_samples(), other], LABELS, QUICK)


def test_nobody_predicts_what_he_was_fitted_to():
    """A workload whose labels are another's turned round is predicted as the other's are."""
    import dataclasses

    data = [make_samples(str(seed), seed=seed) for seed in range(5)]
    odd = data[2]
    odd = dataclasses.replace(odd, mutant_scores=np.ascontiguousarray(odd.mutant_scores[:, ::-1]))
    predicted = cross_predict([*data[:2], odd, *data[3:]], LABELS, QUICK)
    assert [len(rules) for rules in predicted] == [60] * 5
    assert np.mean(predicted[2] == odd.features[:, 0]) > 0.9
