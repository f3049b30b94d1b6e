"""Mutations as rounds recorded them, added up by rule."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.report import rule_totals
from pytest_ansorbench.report.decisions import mutation_sentences
from tests.synthetic import make_run

TILE = {
    "applied": 30,
    "gain": 0.1,
    "improved": 0.5,
    "measured": 2,
    "predicted": 0.8,
    "realised": 0.6,
}
MORE = {"applied": 10, "gain": -0.1, "improved": 0.1, "inapplicable": 3, "invalid": 1}
UNROLL = {"applied": 1, "gain": 0.0, "improved": 0.0}


def run_with(*decisions):
    run = make_run()
    rounds = [
        dataclasses.replace(run.rounds[0], index=index, decisions=decided)
        for index, decided in enumerate(decisions, start=1)
    ]
    return dataclasses.replace(run, rounds=tuple(rounds))


def test_means_are_weighted_by_what_they_are_means_of():
    runs = [
        run_with(
            {"drawn_rules": {"MutateTileSize": TILE}}, {"drawn_rules": {"MutateUnroll": UNROLL}}
        ),
        run_with({"drawn_rules": {"MutateTileSize": MORE}}, {"generations": 0}),
    ]
    tile, unroll = rule_totals(runs)
    assert (tile.rule, tile.applied, tile.inapplicable, tile.invalid) == (
        "MutateTileSize",
        40,
        3,
        1,
    )
    assert tile.gain == pytest.approx(0.05)
    assert tile.improved == pytest.approx(0.4)
    assert (tile.measured, tile.expected, tile.realised) == pytest.approx((2, 0.8, 0.6))
    assert (unroll.rule, unroll.applied, unroll.measured) == ("MutateUnroll", 1, 0)


def test_rounds_without_means_are_counted_only():
    run = run_with({"drawn_rules": {"A": TILE}}, {"drawn_rules": {"A": {"applied": 70}}})
    [totals] = rule_totals([run])
    assert totals.applied == 100
    assert (totals.gain, totals.improved) == pytest.approx((0.1, 0.5))


def test_predicted_rules_come_first_and_are_told_from_drawn_ones():
    run = run_with({"drawn_rules": {"A": TILE, "B": MORE}, "predicted_rules": {"A": UNROLL}})
    totals = [(rule.rule, rule.predicted, rule.applied) for rule in rule_totals([run])]
    assert totals == [("A", True, 1), ("A", False, 30), ("B", False, 10)]
    assert next(mutation_sentences([run])).startswith("A, predicted: 1 mutants")


def test_each_rule_has_a_sentence():
    rules = {"MutateTileSize": {**TILE, **MORE}, "MutateUnroll": UNROLL}
    first, second = mutation_sentences([run_with({"drawn_rules": rules})])
    assert first == (
        "MutateTileSize, drawn: 10 mutants, score -0.100 against the parent, better in 10%; "
        "nothing to change 3 times; "
        "invalid 1 times; 2 measured, predicted 0.80 and realised 0.60 of the best"
    )
    assert second == "MutateUnroll, drawn: 1 mutants, score +0.000 against the parent, better in 0%"


def test_a_strategy_that_records_none_has_none():
    assert rule_totals([run_with({}, {"phase": "explore"})]) == ()


@pytest.mark.parametrize("junk", [None, [], 3, {"A": None}, {"A": [1]}])
def test_what_a_file_says_otherwise_is_passed_over(junk):
    assert rule_totals([run_with({"drawn_rules": junk})]) == ()


@pytest.mark.parametrize("value", ["many", None, True, float("nan"), [1]])
def test_what_is_no_number_counts_as_none(value):
    [totals] = rule_totals([run_with({"drawn_rules": {"A": {"applied": value, "gain": value}}})])
    assert (totals.applied, totals.gain) == (0, 0.0)
