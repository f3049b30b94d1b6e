"""Sentences on gates, which a person understands, and on the repeats that they took."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Advice, CaseResult, Estimate, Gate, Reason
from pytest_ansorbench.report import gates
from pytest_ansorbench.report.gates import repeats_lines
from pytest_ansorbench.stats.changes import Change
from pytest_ansorbench.stats.figures import FIGURES
from tests.report.rendered import lines_of
from tests.synthetic import make_case_result, make_run


def gate_sentence(judged: Gate) -> str:
    return str(gates.gate_sentence(judged))


def change_sentence(found: Change, any_machine: str) -> str:
    return str(gates.change_sentence(found, any_machine))


NOTHING = Estimate(0.0, 0.0, math.inf, "undefined")
STRADDLING = Estimate(0.62, 0.51, 0.88)


def gate(metric: str, estimate: Estimate, limit: float, **facts: Any) -> Gate:
    return Gate(metric, limit, estimate=estimate, **{"repeats": 5, "noise": 0.01, **facts})


def undecided(limit: float = 0.75, reason: str = "straddles", **facts: Any) -> Gate:
    return gate("search_ratio", STRADDLING, limit, outcome="undecided", reason=reason, **facts)


@pytest.mark.parametrize(
    ("judged", "sentence"),
    [
        (
            gate("search_ratio", STRADDLING, 0.9, outcome="holds", reason="within"),
            "search ratio S = 0.62 [0.51, 0.88] is within the limit 0.90: holds",
        ),
        (
            gate("search_ratio", Estimate(1.2, 1.1, 1.5), 0.9, outcome="broken", reason="beyond"),
            "search ratio S = 1.20 [1.10, 1.50] exceeds the limit 0.90: broken",
        ),
        (
            undecided(advice=Advice("unknown")),
            "search ratio S = 0.62 [0.51, 0.88]: its interval straddles the limit 0.75: "
            "undecided (5 repeats; more repeats narrow the interval)",
        ),
        (
            gate(
                "search_ratio",
                Estimate(8.0, 6.5, math.inf, "at-least"),
                0.75,
                outcome="broken",
                reason="beyond",
            ),
            "search ratio S >= 8.00 [6.50, inf] exceeds the limit 0.75: broken",
        ),
        (
            gate(
                "search_ratio",
                Estimate(0.125, 0.0, 0.25, "at-most"),
                0.75,
                outcome="holds",
                reason="within",
            ),
            "search ratio S <= 0.12 [0, 0.25] is within the limit 0.75: holds",
        ),
        (
            gate("search_ratio", NOTHING, 0.75, outcome="broken", reason="nothing-to-compare"),
            "search ratio S: nothing could be compared with the limit 0.75: broken",
        ),
        (
            gate(
                "search_ratio",
                Estimate(0.906, 0.904, 0.908),
                0.9,
                outcome="undecided",
                reason="within-noise",
                advice=Advice("too-close", 0.85),
            ),
            "search ratio S = 0.906 [0.904, 0.908]: its interval exceeds the limit 0.90 by less "
            "than 1%: undecided (with 5 repeats a figure has to be below about 0.85 to hold; this "
            "close to the limit no number of repeats would settle it)",
        ),
        (
            gate(
                "throughput_ratio",
                Estimate(0.9, 0.8, 0.95),
                0.985,
                outcome="undecided",
                reason="chance",
                p_value=0.0213,
                advice=Advice("too-many", 1.08),
            ),
            "throughput ratio = 0.90 [0.80, 0.95] falls short of the limit 0.985, but chance would "
            "do that in 2.1% of sessions: undecided (with 5 repeats a figure has to be above about "
            "1.08 to hold; at 0.90 not even 100 would settle it)",
        ),
    ],
)
def test_the_sentence_has_figure_limit_outcome_and_advice(judged: Gate, sentence: str) -> None:
    assert gate_sentence(judged) == sentence


@pytest.mark.parametrize(
    ("advice", "words"),
    [
        (Advice("no-interval", repeats_needed=4), "(5 repeats; below 4 there is no interval)"),
        (
            Advice("settles", 0.274, 22),
            "(with 5 repeats a figure has to be below about 0.27 to hold; at 0.62 about 22 would "
            "settle it)",
        ),
        (
            Advice("unknown", 0.274),
            "(with 5 repeats a figure has to be below about 0.27 to hold; more repeats narrow the "
            "interval)",
        ),
    ],
)
def test_advice(advice: Advice, words: str) -> None:
    assert gate_sentence(undecided(advice=advice)).endswith(f": undecided {words}")


def test_no_sentence_has_an_interval_and_says_that_there_is_none() -> None:
    golden = Path(__file__).parents[1] / "golden"
    lines = [line for path in golden.glob("*.txt") for line in path.read_text().splitlines()]
    without = [line for line in lines if "there is no interval" in line]
    assert without
    assert all("[0, inf]" in line for line in without)


def test_one_repeat_is_told() -> None:
    assert "(1 repeat; " in gate_sentence(undecided(repeats=1, advice=Advice("no-interval")))


def test_digits_are_added_where_rounding_would_contradict_the_outcome() -> None:
    judged = gate(
        "search_ratio",
        Estimate(0.8, 0.7, 0.9004),
        0.9,
        outcome="undecided",
        reason="straddles",
        advice=Advice("unknown"),
    )
    assert "[0.7000, 0.9004]" in gate_sentence(judged)


def change(judged: Gate | None, other_machine: str = "") -> Change:
    metric = judged.metric if judged is not None else "search_ratio"
    return Change("conv2d", "fast", metric, 1.0, 1.2, STRADDLING, judged, other_machine)


def test_a_change_is_told_by_its_key() -> None:
    judged = gate("throughput", Estimate(0.83, 0.8, 0.9), 0.97, outcome="broken", reason="beyond")
    assert change_sentence(change(judged), "--any") == (
        "throughput now over before = 0.83 [0.80, 0.90] falls short of the limit 0.97: broken"
    )
    assert change_sentence(change(None), "--any") == ""


def test_another_machine_is_told_with_both_cures() -> None:
    judged = gate("search_time", NOTHING, 1.1, outcome="broken", reason="other-machine")
    assert change_sentence(change(judged, "cpu: A is now B"), "--any") == (
        "search_time: nothing could be compared, for the earlier result is from another machine "
        "(cpu: A is now B); gate a ratio such as search_ratio_early or throughput_ratio, "
        "or give --any: broken"
    )


@given(st.sampled_from(sorted(FIGURES)), st.sampled_from(get_args(Reason)))
def test_every_sentence_names_its_outcome(metric: str, reason: str) -> None:
    judged = gate(metric, STRADDLING, 0.75, outcome="undecided", reason=reason, p_value=0.2)
    assert gate_sentence(judged).endswith(": undecided")


def case(repeats: int, **gate: object) -> CaseResult:
    """A case that was looked at, with a gate or two of one kind."""
    runs = [make_run(seed=seed, final=1.0) for seed in range(repeats)]
    found = make_case_result(
        reference=runs, challengers={"fast": [replace(run, strategy="fast") for run in runs]}
    )
    [verdict] = found.verdicts
    gates = tuple(replace(one, **gate) for one in verdict.gates)
    return replace(found, looks="3:12", verdicts=(replace(verdict, gates=gates),))


def told(*cases: CaseResult) -> str:
    return "\n".join(lines_of(repeats_lines(cases, ())))


def test_a_fixed_number_needs_no_words() -> None:
    assert told(replace(case(4), looks="")) == ""


def test_repeats_and_gates_are_counted() -> None:
    decided = case(3, outcome="holds", open=False)
    given_up = case(5, outcome="undecided", open=False)
    still_open = case(12, outcome="undecided", open=True)
    assert told(decided, given_up, still_open) == (
        "repeats: 3 to 12 of at most 12 in 3 cases, 20 in all; gates: 2 decided, 2 undecided, "
        "whatever repeats are left would show, 2 open, for want of time"
    )


def test_one_case_without_gates() -> None:
    found = case(5)
    [verdict] = found.verdicts
    bare = replace(found, verdicts=(replace(verdict, gates=()),))
    assert told(bare) == "repeats: 5 of at most 12 in 1 case, 5 in all; no gate to settle"
