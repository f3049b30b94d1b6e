"""The record of mutation rules adds up."""

from __future__ import annotations

import pytest

from pytest_ansorbench.strategies.breeding import Attempt, Individual, Mutation, RuleLedger

RULES = ["MutateTileSize", "MutateUnroll"]


def mutant(rule, score, parent_score, predicted=False):
    return Individual(None, Mutation(rule, predicted, parent_score), score)


def sampled(score):
    return Individual(None, score=score)


@pytest.fixture
def ledger():
    opened = RuleLedger(RULES)
    opened.start_round(4)
    return opened


def test_a_round_without_mutations_says_how_many_generations_it_bred(ledger):
    assert ledger.decisions() == {"generations": 4}


def test_attempts_are_counted_by_what_became_of_them(ledger):
    outcomes = [(0, "applied"), (1, "inapplicable"), (1, "invalid"), (1, "applied"), (0, "applied")]
    ledger.attempt([Attempt(rule, False, outcome) for rule, outcome in outcomes])
    ledger.attempt([Attempt(1, True, "applied")])
    decisions = ledger.decisions()
    assert decisions["drawn_rules"] == {
        "MutateTileSize": {"applied": 2},
        "MutateUnroll": {"applied": 1, "inapplicable": 1, "invalid": 1},
    }
    assert decisions["predicted_rules"] == {"MutateUnroll": {"applied": 1}}


def test_gains_are_against_the_parent(ledger):
    ledger.score([mutant(0, 0.7, 0.5), mutant(0, 0.4, 0.5), sampled(0.9)])
    assert ledger.decisions()["drawn_rules"] == {"MutateTileSize": {"gain": 0.05, "improved": 0.5}}


def test_what_was_measured_is_held_against_what_was_predicted(ledger):
    picks = [mutant(1, 0.9, 0.5), sampled(0.8), mutant(1, 0.7, 0.5)]
    ledger.propose(picks)
    ledger.observe([50.0, 100.0, 0.0])
    assert ledger.decisions()["drawn_rules"] == {
        "MutateUnroll": {"measured": 2, "predicted": 0.8, "realised": 0.25}
    }
    # The best of all rounds is what later ones are measured by.
    ledger.start_round(4)
    ledger.propose([mutant(0, 0.6, 0.5)])
    ledger.observe([25.0])
    assert ledger.decisions()["drawn_rules"]["MutateTileSize"]["realised"] == 0.25


def test_a_round_of_failures_realises_nothing(ledger):
    ledger.propose([mutant(0, 0.9, 0.5)])
    ledger.observe([0.0])
    assert ledger.decisions() == {"generations": 4}
