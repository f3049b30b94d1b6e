"""Verdicts over all cases and over groups of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from pytest_ansorbench.records import CaseResult, Run, SuiteVerdict
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.paired_runs import pair_case_runs
from pytest_ansorbench.stats.suite import group_of, judge_suites, suite_gates
from pytest_ansorbench.stats.suite_test import SuiteTest
from tests.synthetic import make_case_result, make_run

LIMITS = Limits({"search_ratio": 0.9, "throughput_ratio": 0.95})


def case(name: str, seconds: float = 0.5, final: float = 1.0, repeats: int = 3) -> CaseResult:
    seeds = range(repeats)
    return make_case_result(
        name,
        [make_run(name, seed=s, seconds_per_trial=1 + s / 10, final=1 + s / 10) for s in seeds],
        {
            "fast": [
                make_run(
                    name, "fast", s, seconds_per_trial=seconds * (1 + s / 9), final=final + s / 10
                )
                for s in seeds
            ]
        },
    )


def judged(cases: Sequence[CaseResult], **given) -> SuiteVerdict:
    return judge_suites(cases, Criteria(), LIMITS, **given)[0]


NAMES = ("conv2d-n1-h7", "conv2d-n1-h14", "matmul-b1-m512", "matmul-b12-m64", "x", "softmax-m1-n2")


@pytest.mark.parametrize(
    ("case_id", "group"),
    [
        ("conv2d-n1-h224-w224-ci3", "conv2d"),
        ("conv2d-bn-relu-n1-h7", "conv2d-bn-relu"),
        ("resnet50-n1-s224", "resnet50"),
        ("resnet3d18-n1-t16-s112", "resnet3d18"),
        ("mine", "mine"),
        ("my-own-case", "my-own-case"),
    ],
)
def test_a_group_is_the_id_up_to_the_shape(case_id: str, group: str) -> None:
    assert group_of(case_id) == group


def test_a_suite_holds_what_none_of_its_cases_can_show() -> None:
    cases = [case(name) for name in NAMES]
    assert all(v.gates[0].outcome == "undecided" for one in cases for v in one.verdicts)
    found = judged(cases)
    assert found.cases == NAMES
    assert [(gate.metric, gate.outcome) for gate in found.gates] == [
        ("search_ratio", "holds"),
        ("throughput_ratio", "holds"),
    ]
    ratio = found.figure("search_ratio").estimate
    assert 0.3 < ratio.low < ratio.value < ratio.high < 0.9


def test_a_suite_of_many_cases_is_judged_after_one_repeat() -> None:
    cases = [case(f"case{index}-n1", 0.4 + 0.05 * index, repeats=1) for index in range(12)]
    limits = Limits({"search_ratio": 0.6})
    verdict = judge_suites(cases, Criteria(), limits)[0]
    assert verdict.gates[0].outcome == "undecided"
    assert verdict.gates[0].advice is not None


@pytest.mark.parametrize("repeats", [1, 2])
def test_where_an_interval_has_no_end_there_is_no_spread(repeats: int) -> None:
    """Of so few pairs no interval is bounded, and none has a standard error."""
    one = pair_case_runs(case("x", repeats=repeats), "fast", Criteria())
    assert SuiteTest.of(FIGURES["throughput_ratio"], [one]).spread() is None
    three = pair_case_runs(case("x", repeats=3), "fast", Criteria())
    found = SuiteTest.of(FIGURES["throughput_ratio"], [three])
    assert found.spread() > 0.0
    # What another day's reference adds to the interval is no spread of pairs.
    assert replace(found, error=0.1).spread() == found.spread()


def test_a_suite_that_is_slower_is_broken_and_by_chance_it_would_not_be() -> None:
    slow = judged([case(name, seconds=2.0, final=1.5) for name in NAMES])
    assert slow.outcome == "broken"
    assert {gate.reason for gate in slow.gates} == {"beyond"}
    assert all(gate.p_value is not None and gate.p_value < 0.01 for gate in slow.gates)
    [even, *_] = judge_suites(
        [case(name, seconds=1.0) for name in NAMES], Criteria(), Limits({"search_ratio": 1.0})
    )
    assert even.outcome == "undecided"


def test_a_suite_that_lost_a_case_does_not_hold_and_says_which() -> None:
    found = judged([case(name) for name in NAMES], lost=["matmul-b1-m1"])
    assert [(gate.outcome, gate.reason) for gate in found.gates] == [
        ("undecided", "lost-cases")
    ] * 2
    assert found.gates[0].lost == ("matmul-b1-m1",)
    assert "matmul-b1-m1" in found.cases


def test_a_case_without_runs_or_kernels_is_lost_for_what_it_lacks() -> None:
    empty = replace(case("empty"), runs=(), verdicts=())
    never = [make_run("never", seed=s, latencies=[None, None]) for s in range(3)]
    nothing = make_case_result(
        "never", never, {"fast": [replace(run, strategy="fast") for run in never]}
    )
    found = judged([*(case(name) for name in NAMES), empty, nothing])
    assert found.figure("search_ratio").lost == ("never", "empty")
    assert found.figure("throughput_ratio").lost == ("never", "empty")
    assert found.outcome == "undecided"


def test_a_suite_without_any_run_is_broken() -> None:
    found = judged([replace(case(name), runs=(), verdicts=()) for name in NAMES])
    assert [(gate.outcome, gate.reason) for gate in found.gates] == [
        ("broken", "nothing-to-compare")
    ] * 2
    assert found.gates[0].lost == NAMES


def test_a_broken_suite_stays_broken_whatever_it_lost() -> None:
    found = judged([case(name, seconds=2.0, final=1.5) for name in NAMES], lost=["gone"])
    assert [gate.outcome for gate in found.gates] == ["broken", "broken"]
    assert found.gates[0].lost == ("gone",)


def test_groups_of_several_cases_are_compared_and_not_gated() -> None:
    suites = judge_suites([case(name) for name in NAMES], Criteria(), LIMITS)
    assert [(suite.group, len(suite.cases)) for suite in suites] == [
        ("", 6),
        ("conv2d", 2),
        ("matmul", 2),
    ]
    assert [bool(suite.gates) for suite in suites] == [True, False, False]
    alike = judge_suites([case("conv2d-n1"), case("conv2d-n2")], Criteria(), LIMITS)
    assert [suite.group for suite in alike] == [""]


def beside_climbing(name: str, challenger: Callable[[int], Run]) -> CaseResult:
    """A challenger's run of each seed beside references that improve to the end."""
    seeds = range(4)
    return make_case_result(
        name,
        [make_run(name, seed=s, latencies=[9 + s / 9, 5, 3, 2, 1.5, 1 + s / 9]) for s in seeds],
        {"fast": [challenger(s) for s in seeds]},
    )


def test_a_search_that_stalls_in_every_case_does_not_hold() -> None:
    def stalling(name: str) -> CaseResult:
        return beside_climbing(
            name,
            lambda s: make_run(
                name, "fast", s, [9 + s / 8, 5, 3, 2 + s / 8, 2.5, 2.5], 0.2, round_trials=2
            ),
        )

    found = judged([stalling(name) for name in NAMES])
    gate = next(gate for gate in found.gates if gate.metric == "search_ratio")
    assert gate.estimate.bound == "at-least"
    assert gate.outcome == "undecided"
    # Early it is five times as fast.
    assert found.figure("search_ratio_early").estimate.high < 0.5


@pytest.mark.parametrize(("seconds", "trials"), [(0.2, 30), (5.0, 2)])
def test_the_bound_of_a_suite_is_from_what_was_spent_as_that_of_a_case(
    seconds: float, trials: int
) -> None:
    """However soon or late the challenger was at levels that it did reach."""

    def stuck(name: str) -> CaseResult:
        latencies = [9.0, 5.0, *[2.5] * 28][:trials]
        return beside_climbing(name, lambda s: make_run(name, "fast", s, latencies, seconds))

    cases = [stuck(name) for name in NAMES]
    of_cases = {v.comparison.search_ratio.value for one in cases for v in one.verdicts}
    found = judged(cases).figure("search_ratio").estimate
    assert found.bound == "at-least"
    assert {found.value} == of_cases


def test_a_control_is_held_to_nothing() -> None:
    cases = [replace(case(name), control="fast") for name in NAMES]
    assert judged(cases).gates == ()


def test_times_to_a_single_target_add_up_as_those_to_many_do() -> None:
    found = judge_suites(
        [case(name) for name in NAMES], Criteria(goal=Goal(1.0, 1.0)), Limits({"search_ratio": 0.9})
    )[0]
    assert found.gates[0].outcome == "holds"


def test_gates_are_counted_for_each_challenger() -> None:
    arms = [("default", "a", "b"), ("default", "a"), ("other", "a")]
    assert suite_gates(arms, LIMITS) == 6
    assert suite_gates(arms, Limits()) == 0
    assert judge_suites([], Criteria(), LIMITS) == ()
