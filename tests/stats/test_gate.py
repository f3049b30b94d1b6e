"""Gates: three outcomes, the reason for each, and what more repeats would do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Advice, Estimate, Gate, Run
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.evidence import Evidence
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.gate import Judge, settled_gate
from pytest_ansorbench.stats.judging import judge_arms, judge_result
from pytest_ansorbench.stats.limits import Limits
from pytest_ansorbench.stats.looks import Looks
from pytest_ansorbench.stats.suite import judge_suites
from tests.synthetic import make_case_result, make_result, make_run

LIMITS = st.floats(0.01, 10.0)
BADNESS = {"holds": 0, "undecided": 1, "broken": 2}
WORST_DEAL = 1 / 252


def gate(
    metric: str,
    estimate: Estimate,
    limit: float,
    *,
    chance: float = 0.001,
    spread: float | None = None,
    repeats: int = 5,
    family: int = 1,
) -> Gate:
    evidence = Evidence(
        estimate, repeats, lambda limit, level: chance, WORST_DEAL, lambda: spread, True
    )
    return Judge(Criteria(), family).gate(FIGURES[metric], evidence, limit)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    numbers = st.floats(0.0, 10.0) | st.just(math.inf)
    low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    return Estimate(value, low, high)


@pytest.mark.parametrize(
    ("metric", "estimate", "limit", "outcome", "reason"),
    [
        ("search_ratio", Estimate(0.62, 0.51, 0.88), 0.9, "holds", "within"),
        ("search_ratio", Estimate(1.2, 1.1, 1.5), 0.9, "broken", "beyond"),
        ("search_ratio", Estimate(0.62, 0.51, 0.88), 0.75, "undecided", "straddles"),
        ("search_ratio", Estimate(8.0, 6.5, math.inf, "at-least"), 0.75, "broken", "beyond"),
        ("search_ratio", Estimate(0.125, 0.0, 0.25, "at-most"), 0.75, "holds", "within"),
        (
            "search_ratio",
            Estimate(0.0, 0.0, math.inf, "undefined"),
            0.75,
            "broken",
            "nothing-to-compare",
        ),
        ("throughput_ratio", Estimate(1.01, 0.99, 1.02), 0.985, "holds", "within"),
        ("throughput_ratio", Estimate(0.9, 0.8, 0.95), 0.98, "broken", "beyond"),
        ("search_time", Estimate(1.2, 1.1, 1.3), 1.05, "broken", "beyond"),
        ("throughput", Estimate(1.2, 1.1, 1.3), 0.95, "holds", "within"),
    ],
)
def test_outcome_and_reason(
    metric: str, estimate: Estimate, limit: float, outcome: str, reason: str
) -> None:
    found = gate(metric, estimate, limit)
    assert (found.metric, found.limit, found.estimate) == (metric, limit, estimate)
    assert (found.outcome, found.reason) == (outcome, reason)
    assert (found.repeats, found.noise, found.family) == (5, 0.01, 1)
    assert (found.advice is None) == (outcome != "undecided")


def test_ends_on_the_limit_are_good() -> None:
    assert gate("search_ratio", Estimate(0.6, 0.5, 0.75), 0.75).outcome == "holds"
    assert gate("throughput_ratio", Estimate(1.0, 0.98, 1.0), 0.98).outcome == "holds"
    assert gate("search_ratio", Estimate(0.8, 0.75, 0.9), 0.75).outcome == "undecided"
    assert gate("throughput_ratio", Estimate(0.9, 0.9, 0.98), 0.98).outcome == "undecided"


def test_one_repeat_leaves_no_interval() -> None:
    judged = gate("search_ratio", Estimate(0.5, 0.0, math.inf), 0.75, repeats=1, spread=0.1)
    assert (judged.outcome, judged.advice) == (
        "undecided",
        Advice("no-interval", repeats_needed=2),
    )


@given(estimates(), st.integers(1, 4))
def test_an_interval_with_an_end_is_one(estimate: Estimate, repeats: int) -> None:
    advice = gate("search_ratio", estimate, 0.75, repeats=repeats).advice
    assert advice is None or advice.prospect != "no-interval" or estimate.endless


def test_a_loss_smaller_than_the_noise_threshold_is_not_broken() -> None:
    judged = gate("search_ratio", Estimate(0.906, 0.904, 0.908), 0.9)
    assert (judged.outcome, judged.reason) == ("undecided", "within-noise")
    assert gate("search_ratio", Estimate(0.92, 0.91, 0.93), 0.9).outcome == "broken"
    judged = gate("throughput_ratio", Estimate(0.975, 0.972, 0.978), 0.98)
    assert (judged.outcome, judged.reason) == ("undecided", "within-noise")
    assert gate("throughput_ratio", Estimate(0.96, 0.95, 0.97), 0.98).outcome == "broken"


def test_what_chance_might_have_done_is_not_broken() -> None:
    bad = Estimate(1.2, 1.1, 1.5)
    judged = gate("search_ratio", bad, 0.9, chance=0.021)
    assert (judged.outcome, judged.reason, judged.p_value) == ("undecided", "chance", 0.021)
    judged = gate("search_ratio", bad, 0.9, chance=0.01)
    assert (judged.outcome, judged.reason, judged.p_value) == ("broken", "beyond", 0.01)
    assert gate("search_ratio", Estimate(0.5, 0.4, 0.6), 0.9).p_value is None


def test_false_alarms_are_shared_out_among_all_gates_of_a_session() -> None:
    bad = Estimate(1.2, 1.1, 1.5)
    assert gate("search_ratio", bad, 0.9, chance=0.004, family=2).outcome == "broken"
    judged = gate("search_ratio", bad, 0.9, chance=0.004, family=3)
    assert (judged.outcome, judged.family) == ("undecided", 3)


def test_an_undecided_gate_says_what_its_repeats_can_show_and_how_many_would_do() -> None:
    advice = gate("search_ratio", Estimate(0.6, 0.4, 1.2), 0.9, spread=0.4, repeats=3).advice
    assert advice == Advice("settles", pytest.approx(0.2743, rel=1e-3), 34)
    advice = gate("throughput_ratio", Estimate(0.9, 0.8, 1.01), 0.98, spread=0.05, repeats=4).advice
    assert advice is not None
    assert (advice.prospect, advice.detectable) == ("settles", pytest.approx(1.08, rel=1e-2))


def test_where_the_spread_is_not_known_nothing_is_promised() -> None:
    straddling = Estimate(0.7, 0.4, 1.2)
    assert gate("search_ratio", straddling, 0.9).advice == Advice("unknown")
    bound = gate("search_ratio", Estimate(0.7, 0.4, math.inf, "at-least"), 0.9, spread=0.4).advice
    assert bound is not None
    assert (bound.prospect, bound.repeats_needed) == ("unknown", None)


def test_a_figure_on_its_limit_is_not_worth_more_repeats() -> None:
    advice = gate("search_ratio", Estimate(0.905, 0.7, 1.1), 0.9, spread=0.1).advice
    assert advice is not None and advice.prospect == "too-close"
    advice = gate("search_ratio", Estimate(0.895, 0.7, 1.1), 0.9, spread=0.5).advice
    assert advice is not None and advice.prospect == "too-many"


def test_a_figure_of_another_machine_is_not_compared() -> None:
    judge, figure = Judge(Criteria(noise=0.02), 3), FIGURES["search_time"]
    judged = judge.uncompared(figure, 1.1, 4, "other-machine")
    assert (judged.metric, judged.limit, judged.outcome) == ("search_time", 1.1, "broken")
    assert (judged.reason, judged.repeats, judged.family) == ("other-machine", 4, 3)
    assert (judged.estimate.bound, judged.noise) == ("undefined", 0.02)


@given(estimates(), LIMITS, LIMITS)
def test_a_looser_limit_is_never_worse(estimate: Estimate, one: float, other: float) -> None:
    strict, loose = sorted([one, other])
    assert (
        BADNESS[gate("search_ratio", estimate, loose).outcome]
        <= BADNESS[gate("search_ratio", estimate, strict).outcome]
    )
    assert (
        BADNESS[gate("throughput_ratio", estimate, strict).outcome]
        <= BADNESS[gate("throughput_ratio", estimate, loose).outcome]
    )


LOOKS = Criteria(looks=Looks(3, 12))


def gate_of(seconds: Sequence[float], limit: float = 0.9, criteria: Criteria = LOOKS) -> Gate:
    """The gate on S of a challenger that takes so many seconds a trial, seed by seed."""
    runs: list[Run] = []
    for seed, challenger in enumerate(seconds):
        runs.append(make_run(seed=seed, seconds_per_trial=1 + (seed % 5) / 20))
        runs.append(make_run("conv2d", "fast", seed, seconds_per_trial=challenger))
    [verdict] = judge_arms(
        ("default", "fast"), runs, criteria=criteria, limits=Limits({"search_ratio": limit})
    )
    return verdict.gates[0]


def test_a_plain_gain_is_settled_as_soon_as_counting_can_show_it() -> None:
    gains = [0.3 + seed / 100 for seed in range(12)]
    assert gate_of(gains[:4]).outcome == "undecided"
    assert gate_of(gains[:4]).open
    assert [gate_of(gains[:n]).outcome for n in range(5, 13)] == ["holds"] * 8
    assert gate_of(gains).repeats == 5


def test_what_follows_the_look_that_settles_a_gate_changes_nothing() -> None:
    gains = [0.3 + seed / 100 for seed in range(6)]
    assert gate_of([*gains, 9.0, 9.0, 9.0]) == gate_of(gains)


def test_a_plain_loss_is_broken_and_not_open() -> None:
    found = gate_of([3.0 + seed / 50 for seed in range(12)])
    assert (found.outcome, found.open) == ("broken", False)
    assert found.repeats < 12


def test_what_more_repeats_will_hardly_change_is_given_up() -> None:
    seconds = [0.9 * (1 + (seed % 5) / 20) * (1.2 if seed % 2 else 0.85) for seed in range(9)]
    found = gate_of(seconds)
    assert (found.outcome, found.open) == ("undecided", False)
    assert found.repeats < 9


def test_after_one_repeat_nothing_is_given_up() -> None:
    """A spread takes two; nothing is known of what more would show."""
    found = gate_of([1.0], criteria=Criteria(looks=Looks(1, 12)))
    assert (found.outcome, found.open) == ("undecided", True)


def test_after_the_most_repeats_nothing_is_open() -> None:
    seconds = [0.75 * (1 + (seed % 5) / 20) * (1.6 if seed % 3 else 0.4) for seed in range(12)]
    assert not gate_of(seconds, criteria=Criteria(looks=Looks(3, 12))).open


def test_one_look_is_as_strict_as_none() -> None:
    gains = [0.55 + seed / 100 for seed in range(6)]
    once = gate_of(gains, criteria=Criteria())
    looked = gate_of(gains, criteria=Criteria(looks=Looks(6, 6)))
    assert looked.outcome == once.outcome
    assert looked.estimate.high == pytest.approx(once.estimate.high)


def test_a_look_of_many_asks_for_more_than_one() -> None:
    gains = [0.55 + seed / 100 for seed in range(6)]
    once, looked = gate_of(gains, criteria=Criteria()), gate_of(gains, limit=0.2)
    assert looked.estimate.high - looked.estimate.low >= once.estimate.high - once.estimate.low


SUSPECTS = Criteria(looks=Looks(5, 10, if_suspect=True))


def test_a_gate_is_looked_at_again_only_while_it_is_suspect() -> None:
    worse = [1.02 + seed / 50 for seed in range(10)]
    first = gate_of(worse[:5], criteria=SUSPECTS)
    assert (first.outcome, first.open) == ("undecided", True)
    later = gate_of(worse, criteria=SUSPECTS)
    assert (later.outcome, later.open) == ("broken", False)
    assert 5 < later.repeats <= 10
    equal = [0.9 + seed % 2 / 10 for seed in range(10)]
    assert gate_of(equal, criteria=SUSPECTS) == gate_of(equal[:5], criteria=SUSPECTS)
    assert not gate_of(equal, criteria=SUSPECTS).open


def test_before_the_repeats_that_were_asked_for_a_gate_is_open() -> None:
    assert gate_of([0.9, 1.0], criteria=SUSPECTS).open


@pytest.mark.parametrize(
    ("estimate", "goes_on"),
    [
        (Estimate(2.0, 1.5, 2.5), True),
        (Estimate(1.5, 0.0, math.inf, "at-least"), True),
        (Estimate(math.inf, 0.0, math.inf), True),
        (Estimate(0.8, 0.0, math.inf, "at-least"), True),
        (Estimate(1.2, 0.0, math.inf, "at-most"), False),
        (Estimate(0.8, 0.0, math.inf), False),
        (Estimate(0.5, 0.0, math.inf, "at-most"), False),
    ],
)
def test_what_is_beyond_its_limit_is_looked_at_again_however_little_is_known(
    estimate: Estimate, goes_on: bool
) -> None:
    """Two repeats, or a bound, tell no spread."""
    evidence = Evidence(estimate, 5, lambda limit, level: 0.2, WORST_DEAL, lambda: None, True)
    found = settled_gate(
        FIGURES["search_ratio"], 0.9, Judge(SUSPECTS, 1), lambda *_: evidence, repeats=5
    )
    assert (found.outcome, found.open) == ("undecided", goes_on)


def test_looks_for_suspects_leave_the_interval_of_the_first_as_it_is() -> None:
    gains = [0.55 + seed / 100 for seed in range(5)]
    once = gate_of(gains, criteria=Criteria())
    looked = gate_of(gains, criteria=SUSPECTS)
    assert (looked.outcome, looked.estimate) == (once.outcome, once.estimate)


def test_gates_that_are_judged_again_keep_their_share_of_false_alarms() -> None:
    limits = Limits({"search_ratio": 0.9})
    case = make_case_result()
    [verdict] = case.verdicts
    shared = tuple(replace(one, family=24) for one in verdict.gates)
    case = replace(case, verdicts=(replace(verdict, gates=shared),))
    result = make_result(case)
    judged = judge_result(
        replace(
            result,
            settings={**result.settings, "max_suite_search_ratio": 0.9},
            suites=judge_suites([case], Criteria(), limits, family=10),
        )
    )
    assert {one.family for of_case in judged.cases for one in of_case.gates} == {24}
    assert {one.family for suite in judged.suites for one in suite.gates} == {10}
