"""Drafts as rounds recorded them, added up."""

from __future__ import annotations

import pytest

from pytest_ansorbench.report.decisions import draft_sentences
from tests.report.test_mutations import run_with


def told(*runs):
    return list(draft_sentences(runs))


FIRST = {
    "replayed": 20,
    "failed": 1,
    "repeated": 0,
    "predicted": [None, None],
    "measured": [0.5, 1.0],
}
SECOND = {
    "replayed": 30,
    "failed": 4,
    "repeated": 10,
    "predicted": [0.9, 0.8, 0.7],
    "measured": [1.0, 0.6, 0.5],
}


def test_a_strategy_without_drafts_has_no_sentence():
    assert told(run_with({"generations": 4})) == []


def test_what_was_predicted_is_told_beside_what_came_true():
    assert told(run_with({"drafts": FIRST}, {"drafts": SECOND}), run_with({})) == [
        "drafts: 50 replayed, 10% no program, 20% programs proposed before; 3 measured, on average "
        "predicted 0.80 and realised 0.70 of the best, rank correlation 1.00"
    ]


def test_before_there_is_a_model_nothing_is_predicted():
    assert told(run_with({"drafts": FIRST})) == [
        "drafts: 20 replayed, 5% no program, 0% programs proposed before"
    ]


@pytest.mark.parametrize(
    ("predicted", "measured", "agreement"),
    [
        ([0.1, 0.2, 0.3], [3.0, 2.0, 1.0], -1.0),
        ([0.1, 0.1, 0.3], [0.1, 0.1, 0.2], 1.0),
        ([0.1, 0.1], [0.2, 0.3], None),
        ([0.5], [0.5], None),
    ],
)
def test_agreement_is_that_of_ranks(predicted, measured, agreement):
    drafts = {**SECOND, "predicted": predicted, "measured": measured}
    [sentence] = told(run_with({"drafts": drafts}))
    end = "of the best" if agreement is None else f"of the best, rank correlation {agreement:.2f}"
    assert sentence.endswith(end)


def test_a_file_may_hold_anything():
    odd = {"replayed": "many", "failed": True, "predicted": 3, "measured": [float("nan")]}
    assert told(run_with({"drafts": odd}, {"drafts": [1, 2]})) == []
    [sentence] = told(run_with({"drafts": {**odd, "replayed": 3}}))
    assert sentence == "drafts: 3 replayed, 0% no program, 0% programs proposed before"
