"""A model file says what it is for, and one that does not fit is refused in a sentence."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from pytest_ansorbench.strategies import BadModel, PredictedRules, load_rule_model
from pytest_ansorbench.strategies.features import POOLED
from pytest_ansorbench.strategies.model_file import file_facts, write_card
from pytest_ansorbench.strategies.rule_model import SHIPPED
from pytest_ansorbench.training.rule_fit import FitSettings, fit
from tests.disks import files_of_at_most
from tests.training.samples import RULES, WEIGHTS, make_samples

STOCK = dict(zip(RULES, WEIGHTS, strict=True))


@pytest.fixture(scope="module")
def model():
    return fit([make_samples()], FitSettings(trees=3, depth=2))


@pytest.mark.parametrize("suffix", [".ubj", ".json"])
def test_a_model_is_read_as_it_was_written(model, tmp_path, suffix):
    model.save(tmp_path / f"rules{suffix}")
    again = load_rule_model(tmp_path / f"rules{suffix}")
    features = make_samples(seed=5).features
    np.testing.assert_array_equal(again.predict(features), model.predict(features))
    assert again.rules == RULES


def test_the_shipped_model_is_small_and_knows_the_rules_of_a_cpu():
    assert SHIPPED.stat().st_size < 2_000_000
    model = load_rule_model()
    assert set(model.rules) == set(RULES)
    assert model.predict(np.zeros((3, POOLED), np.float32)).shape == (3,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "expected format 1, got 99; train it anew with ansor-bench train-rules"),
        ({"features": 7}, f"expected {POOLED} features a program, got 7"),
        ({"rules": 3}, "expected names of rules, got 3"),
    ],
)
def test_a_model_of_another_kind_is_refused(model, tmp_path, change, message):
    path = tmp_path / "rules.json"
    model.save(path)
    content = json.loads(path.read_text())
    attributes = content["learner"]["attributes"]
    attributes["ansor_bench"] = json.dumps({**json.loads(attributes["ansor_bench"]), **change})
    path.write_text(json.dumps(content))
    write_card({"model": file_facts(path)}, path)
    with pytest.raises(BadModel, match=re.escape(f"bad rule model {path}: {message}")):
        load_rule_model(path)


def test_a_booster_of_somebody_else_is_refused(tmp_path):
    import xgboost

    matrix = xgboost.DMatrix(np.zeros((4, 2)), label=[0, 1, 0, 1])
    booster = xgboost.train({"objective": "binary:logistic"}, matrix, num_boost_round=1)
    path = tmp_path / "foreign.ubj"
    booster.save_model(path)
    with pytest.raises(BadModel, match=r"its card, foreign\.card\.json, does not"):
        load_rule_model(path)
    write_card({"model": file_facts(path)}, path)
    with pytest.raises(BadModel, match="expected format 1, got None"):
        load_rule_model(path)


@pytest.mark.parametrize("content", [None, b"", b"no model", bytes(range(64))])
def test_what_is_no_model_is_refused(tmp_path, content):
    path = tmp_path / "rules.ubj"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadModel, match=r"bad rule model .*expected a file that ansor-bench"):
        load_rule_model(path)


CARDS = [None, "", "{}", "[]", "null", '{"model": {"sha256": 1}}', "[" * 10_000]


@pytest.mark.parametrize("card", CARDS)
def test_a_model_whose_card_tells_nothing_is_refused(model, tmp_path, card):
    path = tmp_path / "rules.ubj"
    model.save(path)
    path.with_suffix(".card.json").unlink()
    if card is not None:
        path.with_suffix(".card.json").write_text(card)
    with pytest.raises(BadModel, match=r"rules\.ubj: its card, rules\.card\.json, does"):
        load_rule_model(path)


def test_a_damaged_model_never_reaches_the_parser_that_dies_of_it(model, tmp_path):
    path = tmp_path / "rules.ubj"
    model.save(path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content + b"x", content[::-1]):
        path.write_bytes(damaged)
        with pytest.raises(BadModel, match="does not tell of this file"):
            load_rule_model(path)


def test_rules_are_matched_by_name_whatever_their_order(model, tmp_path):
    path = tmp_path / "rules.ubj"
    model.save(path)
    samples = make_samples(seed=5)
    backwards = dict(reversed(STOCK.items()))
    # A store's features that pool to what the model expects cannot be made up, so it is asked.
    chosen = PredictedRules(path).start(backwards)
    forwards = PredictedRules(path).start(STOCK)
    stores = [row[None, :164] for row in samples.features]
    one, other = (chooser.choose(len(stores), lambda: stores) for chooser in (chosen, forwards))
    assert [list(backwards)[i] for i in one] == [list(STOCK)[i] for i in other]


def test_a_model_for_other_rules_is_refused(model, tmp_path):
    path = tmp_path / "rules.ubj"
    model.save(path)
    with pytest.raises(BadModel, match="expected the target's rules MutateTileSize, MutateThread"):
        PredictedRules(path).start({"MutateTileSize": 0.9, "MutateThreadBinding": 0.1})


def test_a_model_that_does_not_fit_on_a_disk_leaves_the_one_that_was_there(model, tmp_path):
    path = tmp_path / "rules.ubj"
    model.save(path)
    before = path.read_bytes()
    with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
        model.save(path)
    assert path.read_bytes() == before
