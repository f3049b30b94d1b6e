"""The classifier learns what there is to learn, and its scores say so."""

from __future__ import annotations

import dataclasses
from importlib import metadata

import numpy as np
import pytest

from pytest_ansorbench.training import train_rules
from pytest_ansorbench.training.cards import cross_predict, library_versions
from pytest_ansorbench.training.rule_fit import FitSettings, evaluate, fit
from tests.training.samples import RULES, make_samples

QUICK = FitSettings(trees=40, depth=2, learning_rate=0.3, columns=1.0)


def scored(model, data):
    return evaluate(data, [model.predict(samples.features) for samples in data], most_frequent=0)


@pytest.fixture(scope="module")
def model():
    return fit([make_samples(seed=1), make_samples("b", seed=2)], QUICK)


def test_a_rule_that_shows_in_the_features_is_found(model):
    unseen = make_samples(seed=3)
    assert np.mean(model.predict(unseen.features) == unseen.features[:, 0]) > 0.9
    assert model.rules == RULES


def test_scores_lie_between_what_one_rule_gains_and_the_best_in_hindsight(model):
    scores = scored(model, [make_samples(seed=3)])
    assert scores.programs == 60
    assert scores.accuracy > 0.9 > scores.accuracy_most_frequent
    assert scores.gain_most_frequent < scores.gain <= scores.gain_best
    assert scores.gain_stock < scores.gain


def test_workloads_that_no_rule_can_change_are_left_out(model):
    chain = make_samples("chain", mutable=False)
    assert scored(model, [make_samples(seed=3), chain]) == scored(model, [make_samples(seed=3)])
    with pytest.raises(ValueError, match="no mutation rule can change their"):
        scored(model, [chain])
    with pytest.raises(ValueError, match="no mutation rule can change their"):
        fit([chain], QUICK)


def test_a_model_that_cannot_be_judged_is_not_written(tmp_path):
    chain = make_samples("chain", mutable=False)
    with pytest.raises(ValueError, match="bad workloads chain: no mutation rule can change"):
        train_rules([make_samples()], [chain], tmp_path / "m.ubj", command="", seed=0, say=print)
    assert not [*tmp_path.iterdir()]


def test_different_rules_cannot_be_learnt_together():
    other = dataclasses.replace(make_samples("b"), rules=("A", "B", "C", "D"))
    with pytest.raises(ValueError, match="expected samples with the same rules"):
        fit([make_samples(), other], QUICK)


def test_libraries_that_are_no_packages_have_no_version(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert library_versions() == {"apache-tvm": None, "xgboost": None, "numpy": None}


@pytest.mark.parametrize("folds", [2, 3, 99])
def test_no_part_is_predicted_by_a_model_that_was_fitted_to_it(folds):
    data = [10**index for index in range(5)]  # a sum tells which of them are in it

    def fitted(rest):
        return lambda one: np.array([sum(rest), one])

    predicted = cross_predict(data, folds, fitted, lambda one: one)
    for index, (known, one) in enumerate(predicted):
        left_out = sum(data[index % folds :: folds])
        assert (known, one) == (sum(data) - left_out, data[index])


def test_parts_of_one_subject_are_left_out_together():
    data = ["a1", "b1", "a2", "c1", "b2"]
    found = cross_predict(data, 3, lambda rest: lambda one: (rest, one), lambda one: one[0])
    assert [one for _, one in found] == data
    assert all(one[0] not in "".join(rest) for rest, one in found)
