"""What a report opens with."""

from __future__ import annotations

import dataclasses
import math

import pytest

from pytest_ansorbench.records import (
    Advice,
    CaseResult,
    Estimate,
    Gate,
    SuiteFigure,
    SuiteVerdict,
)
from pytest_ansorbench.report.verdicts import verdict_lines
from tests.report.rendered import lines_of
from tests.synthetic import make_case_result, make_run

HALF = Estimate(0.5, 0.4, 0.6)
NOTHING = Estimate(0.0, 0.0, math.inf, "undefined")


def judged(
    case: str = "conv2d", *, ratio: Estimate = HALF, gates: tuple[Gate, ...] = ()
) -> CaseResult:
    """A case whose S is known, and with these gates."""
    result = make_case_result(case)
    [verdict] = result.verdicts
    comparison = dataclasses.replace(
        verdict.comparison, search_ratio=ratio, throughput_ratio=Estimate(1.02, 0.99, 1.05)
    )
    return dataclasses.replace(
        result, verdicts=(dataclasses.replace(verdict, comparison=comparison, gates=gates),)
    )


def gate(outcome: str = "holds", metric: str = "search_ratio", **facts: object) -> Gate:
    reason = {"holds": "within", "broken": "beyond", "undecided": "straddles"}[outcome]
    return Gate(metric, 0.9, outcome, reason, HALF, 5, 0.01, **facts)


def suite(*gates: Gate, group: str = "", lost: tuple[str, ...] = ()) -> SuiteVerdict:
    return SuiteVerdict(
        "default",
        "fast",
        group,
        ("a", "b"),
        (
            SuiteFigure("search_ratio", Estimate(0.52, 0.41, 0.66), lost),
            SuiteFigure("throughput_ratio", Estimate(1.01, 0.99, 1.03)),
        ),
        gates,
    )


def told(*cases: CaseResult, suites: tuple[SuiteVerdict, ...] = ()) -> list[str]:
    return lines_of(verdict_lines(cases, suites))


def test_a_case_says_who_is_faster_and_how_its_gates_stand() -> None:
    assert told(judged(gates=(gate(),))) == [
        "conv2d: fast reaches default's throughput 2.00 times sooner (S 0.50 [0.40, 0.60], "
        "throughput ratio 1.02 [0.99, 1.05]): holds (search ratio S against 0.90)"
    ]


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (Estimate(2.0, 1.5, 3.0), "fast takes 2.00 times as long to reach default's throughput"),
        (Estimate(1.001, 0.9, 1.1), "fast takes as long as default"),
        (
            Estimate(1.8, 1.2, math.inf, "at-least"),
            "fast takes at least 1.80 times as long to reach default's throughput",
        ),
        (
            Estimate(0.25, 0.0, 0.5, "at-most"),
            "fast reaches default's throughput at least 4.00 times sooner",
        ),
        (
            Estimate(1.25, 0.0, 2.0, "at-most"),
            "fast takes at most 1.25 times as long to reach default's throughput",
        ),
        (
            Estimate(0.5, 0.2, math.inf, "at-least"),
            "fast does not reach all of default's throughput",
        ),
        (Estimate(math.inf, 1.0, math.inf), "fast never reaches default's throughput"),
        (NOTHING, "fast could not be compared with default"),
    ],
)
def test_every_ratio_has_its_words(ratio: Estimate, words: str) -> None:
    [line] = told(judged(ratio=ratio))
    assert line.startswith(f"conv2d: {words} (S ")


def test_all_cases_come_first_then_the_worst() -> None:
    cases = (
        judged("a", gates=(gate(),)),
        judged("b", gates=(gate("undecided"),)),
        judged("c", gates=(gate(), gate("broken", "throughput_ratio"))),
        judged("d"),
    )
    lines = told(*cases, suites=(suite(gate()), suite(group="conv2d")))
    assert [line.split(" ")[0] for line in lines] == ["fast", "c:", "b:", "d:", "a:"]
    assert lines[0] == (
        "fast reaches default's throughput 1.92 times sooner over 2 cases (S 0.52 [0.41, 0.66], "
        "throughput ratio 1.01 [0.99, 1.03]): holds (search ratio S against 0.90)"
    )
    assert lines[1].endswith(": broken (throughput ratio against 0.90)")


def test_a_suite_says_how_many_cases_it_stands_on() -> None:
    [line] = told(suites=(suite(lost=("b",)),))
    assert "(S 0.52 [0.41, 0.66] (1 of 2), throughput ratio 1.01 [0.99, 1.03])" in line
    assert line.endswith("; 1 case could not be compared: b")


def test_an_undecided_case_says_what_would_settle_it() -> None:
    settles = gate("undecided", advice=Advice("settles", 0.8, 9))
    unknown = gate("undecided", "throughput_ratio", advice=Advice("unknown"))
    [line] = told(judged(gates=(settles,)))
    assert line.endswith(
        "undecided (search ratio S against 0.90); about 4 more repeats would settle it"
    )
    [line] = told(judged(gates=(settles, unknown)))
    assert line.endswith("undecided (search ratio S against 0.90, throughput ratio against 0.90)")


def test_many_cases_that_hold_share_a_sentence() -> None:
    cases = [judged(f"case-{place}", gates=(gate(),)) for place in range(7)]
    assert told(*cases) == [f"7 cases of fast hold: {', '.join(case.case for case in cases)}"]
    assert len(told(*cases[:6])) == 6


def test_without_a_challenger_there_is_nothing_to_say() -> None:
    assert told(CaseResult("conv2d", ("default",), (make_run(),), ())) == []
