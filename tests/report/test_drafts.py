"""Drafts as rounds recorded them, added up."""

from __future__ import annotations

import pytest

from pytest_ansorbench.report.drafts import draft_sentences, draft_totals
from tests.report.rendered import line_of
from tests.report.test_mutations import run_with

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


def test_counts_are_added_up_and_predictions_paired():
    totals = draft_totals([run_with({"drafts": FIRST}, {"drafts": SECOND}), run_with({})])
    assert (totals.replayed, totals.failed, totals.repeated) == (50, 5, 10)
    assert totals.predicted == (0.9, 0.8, 0.7) and totals.measured == (1.0, 0.6, 0.5)
    assert totals.rank_correlation == pytest.approx(1.0)


def test_a_strategy_without_drafts_has_no_sentence():
    assert draft_totals([run_with({"generations": 4})]) is None
    assert draft_sentences([run_with({"generations": 4})]) == ()


def test_what_was_predicted_is_told_beside_what_came_true():
    [sentence] = draft_sentences([run_with({"drafts": FIRST}, {"drafts": SECOND})])
    assert line_of(sentence) == (
        "drafts: 50 replayed, 10% no program, 20% programs proposed before; 3 measured, on average "
        "predicted 0.80 and realised 0.70 of the best, rank correlation 1.00"
    )


def test_before_there_is_a_model_nothing_is_predicted():
    [sentence] = draft_sentences([run_with({"drafts": FIRST})])
    assert line_of(sentence) == "drafts: 20 replayed, 5% no program, 0% programs proposed before"


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
    found = draft_totals([run_with({"drafts": drafts})]).rank_correlation
    assert found == (None if agreement is None else pytest.approx(agreement))


def test_a_file_may_hold_anything():
    odd = {"replayed": "many", "failed": True, "predicted": 3, "measured": [float("nan")]}
    totals = draft_totals([run_with({"drafts": odd}, {"drafts": [1, 2]})])
    assert (totals.replayed, totals.predicted) == (0, ())
    assert draft_sentences([run_with({"drafts": odd})]) == ()
