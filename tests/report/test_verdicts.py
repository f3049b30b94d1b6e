"""What a report opens with."""

from __future__ import annotations

import dataclasses

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
from pytest_ansorbench.stats.goal import Goal
from tests.report.rendered import lines_of
from tests.synthetic import make_case_result, make_run

HALF = Estimate(0.5, 0.4, 0.6)


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
            SuiteFigure("search_ratio_early", Estimate(0.52, 0.41, 0.66), lost),
            SuiteFigure("throughput_ratio", Estimate(1.01, 0.99, 1.03)),
        ),
        gates,
    )


def told(*cases: CaseResult, suites: tuple[SuiteVerdict, ...] = ()) -> list[str]:
    return lines_of(verdict_lines(cases, suites, Goal()))


def test_a_case_says_who_is_sooner_and_how_its_gates_stand() -> None:
    assert told(judged(gates=(gate(),))) == [
        "conv2d: fast reaches default's throughput in 4 of 4 runs (default in 4 of 4), 2.00 times "
        "sooner over the last 40% of default's gain (S 0.50 [0.40, 0.60], throughput ratio 1.02 "
        "[0.99, 1.05]): holds (search ratio S against 0.90)"
    ]


def test_all_cases_come_first_then_the_worst() -> None:
    cases = (
        judged("a", gates=(gate(),)),
        judged("b", gates=(gate("undecided"),)),
        judged("c", gates=(gate(), gate("broken", "throughput_ratio"))),
        judged("d"),
    )
    lines = told(*cases, suites=(suite(gate()), suite(group="conv2d")))
    assert [line.split(" ")[0] for line in lines] == ["2", "c:", "b:", "d:", "a:"]
    assert lines[0] == (
        "2 cases: fast reaches default's throughput in 8 of 8 runs (default in 8 of 8), 1.92 times "
        "sooner over the last 40% of default's gain (S 0.52 [0.41, 0.66], of cases 0.50 to 0.50, "
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
    none_yet = gate("undecided", advice=Advice("no-interval", None, 9))
    [line] = told(judged(gates=(none_yet,)))
    assert line.endswith("undecided (search ratio S against 0.90)")
    [line] = told(judged(gates=(settles, unknown)))
    assert line.endswith("undecided (search ratio S against 0.90, throughput ratio against 0.90)")


def test_a_gate_that_was_settled_on_fewer_repeats_says_so() -> None:
    settles = gate("undecided", advice=Advice("settles", 0.8, 9))
    early = dataclasses.replace(settles, metric="throughput_ratio", repeats=3)
    case = judged("a", gates=(settles, early))
    words = "S against 0.90, throughput ratio against 0.90, after 3 of 4 repeats)"
    [line] = told(case)
    assert line.endswith(words)
    looked = dataclasses.replace(case, looks="3+9")
    line, _ = told(looked, suites=(suite(settles, early),))
    assert line.endswith(words)


@pytest.mark.parametrize(("outcome", "words"), [("holds", "hold"), ("undecided", "are undecided")])
def test_many_cases_in_one_state_share_a_sentence(outcome: str, words: str) -> None:
    cases = [judged(f"case-{place}", gates=(gate(outcome),)) for place in range(7)]
    assert told(*cases) == [f"7 cases of fast {words}: {', '.join(case.case for case in cases)}"]
    assert len(told(*cases[:6])) == 6


def test_one_case_of_many_in_its_state_is_one() -> None:
    cases = [judged(f"case-{place}", gates=(gate("holds"),)) for place in range(7)]
    [verdict] = cases[6].verdicts
    arm = dataclasses.replace(verdict.comparison.challenger, strategy="other")
    compared = dataclasses.replace(verdict.comparison, challenger=arm)
    verdicts = (dataclasses.replace(verdict, comparison=compared),)
    arms = ("default", "fast", "other")
    lines = told(*cases[:6], dataclasses.replace(cases[6], strategies=arms, verdicts=verdicts))
    assert lines[1] == "1 case of other holds: case-6"


def test_every_broken_case_has_its_sentence() -> None:
    assert len(told(*(judged(f"case-{place}", gates=(gate("broken"),)) for place in range(9)))) == 9


def test_a_suite_names_its_worst_case_below_the_gate() -> None:
    def of(name: str, final: float) -> CaseResult:
        result = judged(name)
        [verdict] = result.verdicts
        compared = dataclasses.replace(
            verdict.comparison, throughput_ratio=Estimate(final, final, final)
        )
        return dataclasses.replace(
            result, verdicts=(dataclasses.replace(verdict, comparison=compared),)
        )

    gates = suite(gate("holds", "throughput_ratio"))
    [line, *_] = told(of("a", 1.05), of("b", 0.54), suites=(gates,))
    assert "throughput ratio 1.01 [0.99, 1.03], of b 0.54)" in line
    [line, *_] = told(of("a", 1.05), of("b", 0.95), suites=(gates,))
    assert "of b" not in line


def test_without_a_challenger_there_is_nothing_to_say() -> None:
    assert told(CaseResult("conv2d", ("default",), (make_run(),), ())) == []
