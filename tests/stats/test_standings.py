"""Laws of pairs, ranks, run-time distributions and performance profiles."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.distribution import SHARES
from pytest_ansorbench.stats.duels import Duel
from pytest_ansorbench.stats.estimates import inverse
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.judging import judge_result
from pytest_ansorbench.stats.standings import (
    longest,
    mean_ranks,
    performance_profile,
    ratios_to_fastest,
    run_time_distribution,
    sooner,
)
from tests.stats.contests import STEPS, case_of, contests, runs_of, session, tournament
from tests.synthetic import CRITERIA, make_yardsticks

latencies = st.lists(
    st.one_of(st.none(), st.sampled_from([1.0, 1.5, 2.0, 3.0, 5.0, 8.0])), min_size=4, max_size=4
).filter(any)
arms = st.tuples(latencies, st.sampled_from([0.5, 1.0, 1.5]))


@settings(max_examples=25, deadline=None)
@given(arms, arms, st.sampled_from([None, *SHARES]))
def test_a_pair_turned_round_has_the_inverse_ratio(one, other, share) -> None:
    cases = [case_of(runs_of(name, "a", *one), runs_of(name, "b", *other)) for name in ("x", "y")]
    found = contests(session(*cases))
    goal = None if share is None else Goal(share, share)
    forth, back = (Duel.of(found, *sides, CRITERIA) for sides in ("ab", "ba"))
    for key in ("search_ratio", "search_ratio_trials", "throughput_ratio"):
        expected, ratio = inverse(back.ratio(key, goal)), forth.ratio(key, goal)
        assert ratio.bound == expected.bound
        assert ratio.value == pytest.approx(expected.value, rel=2e-3)


@settings(max_examples=10, deadline=None)
@given(arms, arms)
def test_a_copy_ties_with_its_original(one, other) -> None:
    case = case_of(runs_of("x", "a", *one), runs_of("x", "copy", *one), runs_of("x", "b", *other))
    [contest] = contests(session(case))
    estimate = Duel.of([contest], "a", "copy", CRITERIA).ratio("search_ratio")
    assert estimate.bound == "undefined" or estimate.value == pytest.approx(1.0, rel=2e-3)
    gain = contest.gain(None, 0.01)
    assert gain is not None
    won = sooner(contest, gain, CRITERIA.goal)
    assert won["a"] == pytest.approx(won["copy"])
    assert sum(won.values()) / 3 == pytest.approx(0.5)
    ranks = mean_ranks([won], 0.95)
    assert ranks["a"] == ranks["copy"]


@settings(max_examples=25, deadline=None)
@given(arms, arms, st.sampled_from(["search_s", "trials"]))
def test_run_time_distributions_rise_to_what_was_reached(one, other, spending) -> None:
    [contest] = contests(session(case_of(runs_of("x", "a", *one), runs_of("x", "b", *other))))
    gain = contest.gain(None, 0.0)
    assert gain is not None
    at = np.linspace(0.0, longest([contest], spending), 50)
    ends = {}
    for arm in "ab":
        reached = run_time_distribution([contest], [gain], arm, spending, at)
        assert reached[0] == 0.0 and (np.diff(reached) >= 0.0).all() and reached[-1] <= 1.0
        ends[arm] = reached[-1]
    best = {arm: min(filter(None, of)) for arm, (of, _) in (("a", one), ("b", other))}
    assert ends[min(best, key=lambda arm: best[arm])] == pytest.approx(1.0)


@given(st.lists(st.sampled_from([1.0, 1.5, 4.0, math.inf]), min_size=1))
def test_a_performance_profile_ends_at_the_share_that_is_solved(ratios) -> None:
    at = np.array([1.0, 2.0, 1e300])
    shares = performance_profile(ratios, at)
    assert shares[0] == np.mean([ratio == 1.0 for ratio in ratios])
    assert shares[-1] == np.mean([math.isfinite(ratio) for ratio in ratios])
    assert (np.diff(shares) >= 0.0).all()


def test_an_arm_in_half_the_time_is_first() -> None:
    found = contests(tournament({"default": 1.0, "twice": 0.5, "slow": 1.5}))
    won = [sooner(one, one.gain(None, 0.01) or (0.0, 0.0), CRITERIA.goal) for one in found]
    ranks = mean_ranks(won, 0.95)
    assert [ranks[arm].value for arm in ("twice", "default", "slow")] == [1.0, 2.0, 3.0]
    assert (ranks["twice"].low, ranks["twice"].high) == (1.0, 1.0)
    halved = Duel.of(found, "default", "twice", CRITERIA)
    assert halved.ratio("search_ratio").value == pytest.approx(0.5, rel=1e-2)
    assert halved.ratio("search_ratio_trials").value == pytest.approx(1.0, rel=1e-2)


def test_one_case_has_ranks_without_an_interval() -> None:
    assert mean_ranks([{"a": 0.7, "b": 0.3}], 0.95)["a"].high == math.inf


def test_a_run_that_ended_by_itself_has_missed() -> None:
    # Its first kernel is sooner, and then it has exhausted its space.
    ended = [
        replace(run, budget_trials=len(STEPS), stopped="space exhausted")
        for run in runs_of("x", "ended", (4.0,), seconds=0.1)
    ]
    [contest] = contests(session(case_of(runs_of("x", "a"), ended)))
    gain = contest.gain(None, 0.0)
    assert gain is not None
    assert sooner(contest, gain, Goal(0.6, 1.0)) == {"a": 1.0, "ended": 0.0}
    late = run_time_distribution([contest], [gain], "ended", "search_s", np.array([1e9]))
    assert late[0] < 0.5


def test_targets_of_a_reference_that_mostly_failed_are_any_kernel() -> None:
    slow = [*runs_of("x", "slow")[:1], *runs_of("x", "slow", (None,) * 4)[1:]]
    case = case_of(slow, runs_of("x", "fast"), runs_of("x", "late", seconds=2.0))
    [contest] = contests(session(case))
    gain = contest.gain("slow", 0.01)
    assert gain == (0.0, 0.0)
    won = sooner(contest, gain, CRITERIA.goal)
    assert sorted(won, key=lambda arm: -won[arm]) == ["fast", "late", "slow"]
    duel = Duel.of([contest], "fast", "late", CRITERIA, "slow")
    assert duel.ratio("search_ratio").value == pytest.approx(2.0, rel=1e-2)


def test_with_a_reference_its_pairs_have_the_ratio_of_other_reports() -> None:
    result = session(
        *(
            case_of(runs_of(case, "a"), runs_of(case, "b", (8.0, 2.0, 2.0, 1.1), 0.8), version="1")
            for case in ("x", "y", "z")
        )
    )
    suite = judge_result(result).suites[0]
    duel = Duel.of(contests(result), "a", "b", Criteria(), "a")
    for key in ("search_ratio", "search_ratio_trials", "throughput_ratio"):
        assert duel.estimate(key, 0.95) == suite.figure(key).estimate


def test_baselines_take_part_in_what_kernels_come_to() -> None:
    case = replace(case_of(runs_of("x", "a", STEPS)), yardsticks=(make_yardsticks(),))
    assert ratios_to_fastest(contests(session(case)), "a") == {"a": [1.0], "torch": [2.0]}
