"""Decisions of a strategy's policies, round by round."""

from __future__ import annotations

import dataclasses
import math

from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Run
from pytest_ansorbench.report.decisions import decision_sentences
from tests.synthetic import make_run


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
