"""What policies reported of their rounds: decisions, mutation rules, drafts."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Run
from pytest_ansorbench.report.decisions import (
    decision_sentences,
    draft_sentences,
    mutation_sentences,
    rule_totals,
    stage_lines,
)
from tests.synthetic import make_case_result, make_run


def told(run: Run) -> list[str]:
    """The sentences on a run."""
    return list(decision_sentences(run))


def deciding(*decisions: dict[str, object]) -> Run:
    """A run with a round for each of some decisions."""
    run = make_run(latencies=[1.0] * 2 * len(decisions))
    rounds = (
        dataclasses.replace(round_, decisions=decided)
        for round_, decided in zip(run.rounds, decisions, strict=True)
    )
    return dataclasses.replace(run, rounds=tuple(rounds))


def test_rounds_of_equal_decisions_are_told_together() -> None:
    warm = {"phase": "warm-up"}
    last = {"phase": "commit", "sketch": 1, "means": {"a": 0.123456, "b": [2.0]}, "etc": None}
    assert told(deciding(warm, warm, warm, last)) == [
        "rounds 1 to 3: phase=warm-up",
        'round 4: phase=commit, sketch=1, means={"a":0.123,"b":[2.0]}, etc=null',
    ]


def test_it_is_told_how_much_of_a_budget_came_after_a_strategy_was_ready() -> None:
    blind = {"phase": "warm-up", "committed_sketch": None, "cost_model": "untrained"}
    ready = {"phase": "exploit", "committed_sketch": 1}
    untrained = {**ready, "cost_model": "untrained"}
    case = make_case_result()

    def stages(*decisions: dict[str, object]) -> list[str]:
        runs = (deciding(*decisions),)
        return [*map(str, stage_lines([dataclasses.replace(case, runs=runs)]).sentences)]

    assert stages(blind, ready, ready, ready) == [
        "stages: default had committed to a sketch in 6 of 8 trials"
    ]
    assert stages(blind, blind, untrained, ready) == [
        "stages: default had committed to a sketch in 4 of 8 trials",
        "stages: the cost model of default was untrained in 6 of 8 trials",
    ]
    assert stages({"generations": 4}, {}) == []


def test_decisions_of_a_network_are_told_task_by_task() -> None:
    run = make_run(latencies=[1.0] * 12, decisions={"phase": "warm-up"})
    turns = (0, 1, 0, 1, 1, 0)
    rounds = [dataclasses.replace(r, task=t) for r, t in zip(run.rounds, turns, strict=True)]
    rounds[-1] = dataclasses.replace(rounds[-1], decisions={"phase": "explore"})
    tasks = (*run.tasks, dataclasses.replace(run.tasks[0], name="pool"))
    assert told(dataclasses.replace(run, tasks=tasks, rounds=tuple(rounds))) == [
        "task 0, rounds 1, 3: phase=warm-up",
        "task 0, round 6: phase=explore",
        "task 1, rounds 2, 4, 5: phase=warm-up",
    ]


def test_floats_are_compared_and_told_to_three_digits() -> None:
    assert told(deciding({"mean": 0.12345}, {"mean": 0.12349}, {"mean": 0.1236})) == [
        "rounds 1 to 2: mean=0.123",
        "round 3: mean=0.124",
    ]


def test_values_of_different_types_are_different_decisions() -> None:
    assert told(deciding({"a": 1}, {"a": 1.0}, {"a": True}, {"a": True})) == [
        "round 1: a=1",
        "round 2: a=1.0",
        "rounds 3 to 4: a=true",
    ]


def test_mutation_rules_are_left_to_their_own_sentences() -> None:
    assert told(deciding({"drawn_rules": {"A": {}}}, {"phase": "x", "predicted_rules": {}})) == [
        "round 2: phase=x"
    ]


def test_long_decisions_are_cut() -> None:
    [line] = told(make_run(decisions={"scores": list(range(1000))}))
    assert line.endswith("...")
    assert len(line) < 100


@given(st.floats())
def test_rounding_is_that_of_three_digits_in_text(value: float) -> None:
    [sentence] = decision_sentences(deciding({"value": value}))
    rounded = float(sentence.removeprefix("round 1: value="))
    assert rounded == float(f"{value:.3g}") or (math.isnan(value) and math.isnan(rounded))


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


run_with = deciding


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
    assert next(mutation_sentences([run])).startswith("A, predicted: 1 mutant")


def test_each_rule_has_a_sentence():
    rules = {"MutateTileSize": {**TILE, **MORE}, "MutateUnroll": UNROLL}
    first, second = mutation_sentences([run_with({"drawn_rules": rules})])
    assert first == (
        "MutateTileSize, drawn: 10 mutants, score -0.100 against the parent, better in 10%; "
        "nothing to change 3 times; "
        "invalid 1 time; 2 measured, predicted 0.80 and realised 0.60 of the best"
    )
    assert second == "MutateUnroll, drawn: 1 mutant, score +0.000 against the parent, better in 0%"


def test_a_strategy_that_records_none_has_none():
    assert rule_totals([run_with({}, {"phase": "explore"})]) == ()


@pytest.mark.parametrize("junk", [None, [], 3, {"A": None}, {"A": [1]}])
def test_what_a_file_says_otherwise_is_passed_over(junk):
    assert rule_totals([run_with({"drawn_rules": junk})]) == ()


@pytest.mark.parametrize("value", ["many", None, True, float("nan"), [1], 10**400, 1e300])
def test_what_is_no_number_counts_as_none(value):
    [totals] = rule_totals([run_with({"drawn_rules": {"A": {"applied": value, "gain": value}}})])
    assert (totals.applied, totals.gain) == (0, 0.0)


def drafts_told(*runs):
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
    assert drafts_told(run_with({"generations": 4})) == []


def test_what_was_predicted_is_told_beside_what_came_true():
    assert drafts_told(run_with({"drafts": FIRST}, {"drafts": SECOND}), run_with({})) == [
        "drafts: 50 replayed, 10% no program, 20% programs proposed before; 3 measured, on average "
        "predicted 0.80 and realised 0.70 of the best, rank correlation 1.00"
    ]


def test_before_there_is_a_model_nothing_is_predicted():
    assert drafts_told(run_with({"drafts": FIRST})) == [
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
    [sentence] = drafts_told(run_with({"drafts": drafts}))
    end = "of the best" if agreement is None else f"of the best, rank correlation {agreement:.2f}"
    assert sentence.endswith(end)


def test_a_file_may_hold_anything():
    odd = {"replayed": "many", "failed": True, "predicted": 3, "measured": [float("nan")]}
    assert drafts_told(run_with({"drafts": odd}, {"drafts": [1, 2]})) == []
    [sentence] = drafts_told(run_with({"drafts": {**odd, "replayed": 3}}))
    assert sentence == "drafts: 3 replayed, 0% no program, 0% programs proposed before"
