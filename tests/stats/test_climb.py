"""Votes of pairs of runs over a ladder of targets."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run

WAY = Goal(0.1)
#: Latencies of a run's trials in seconds, None for a failed one, and seconds a trial.
Made = tuple[Sequence[float | None], float]


def paired(reference: Sequence[Made], challenger: Sequence[Made], goal: Goal = WAY) -> PairedRuns:
    arms = [
        [
            Trajectory.of(make_run(strategy=name, seed=s, latencies=latencies, seconds_per_trial=t))
            for s, (latencies, t) in enumerate(arm)
        ]
        for name, arm in (("default", reference), ("fast", challenger))
    ]
    return PairedRuns(arms[0], arms[1], goal, 0.0)


def climb(reference: Sequence[Made], challenger: Sequence[Made], goal: Goal = WAY) -> Climb:
    return Climb.of(paired(reference, challenger, goal), "search_s", goal)


def votes_by_hand(found: Climb, log_factor: float, rung: int) -> int:
    """Pairs in which the challenger is later, less those in which it is earlier."""
    n, votes = found.repeats, 0
    for challenger in range(n, 2 * n):
        for reference in range(n):
            own = found.log_cost[challenger, rung] - log_factor
            other = found.log_cost[reference, rung]
            # Costs that are the same but for their rounding are a tie.
            votes += int(own > other + 1e-9)
            votes -= int(other > own + 1e-9)
    return votes


runs = st.lists(
    st.tuples(
        st.lists(st.none() | st.floats(0.1, 10.0), min_size=1, max_size=6), st.floats(0.1, 10.0)
    ),
    min_size=3,
    max_size=3,
)


@settings(max_examples=30, deadline=None)
@given(runs, runs, st.floats(-2.0, 2.0))
def test_scores_add_up_to_the_votes_of_pairs(
    reference: list[Made], challenger: list[Made], log_factor: float
) -> None:
    found = climb(reference, challenger)
    start, stop = found.ladder
    rungs = range(int(start[0]), int(stop[0]))
    by_hand = [votes_by_hand(found, log_factor, rung) for rung in rungs]
    lateness = found.lateness(found.scores(log_factor), found.seen, (start, stop))
    assert lateness[0] == pytest.approx(statistics.fmean(by_hand))
    assert found.rungs(log_factor)[1].tolist() == by_hand


@settings(max_examples=30, deadline=None)
@given(runs, runs)
def test_votes_balance_at_the_ratio(reference: list[Made], challenger: list[Made]) -> None:
    found = climb(reference, challenger)
    at = found.log_ratio
    if not math.isfinite(at):
        return
    ladder = found.ladder
    below, above = (
        found.lateness(found.scores(at + side), found.seen, ladder)[0] for side in (-1e-6, 1e-6)
    )
    assert below >= 0.0 >= above


def test_one_rung_that_all_reach_is_the_median_of_the_pairs_ratios() -> None:
    reference = [([2.0, 1.0], seconds) for seconds in (1.0, 2.0, 4.0)]
    challenger = [([2.0, 1.0], seconds) for seconds in (3.0, 5.0, 7.0)]
    ratios = [c / r for _, c in challenger for _, r in reference]
    # All runs go from 2 to 1 in one step, so that each rung is reached with the second trial.
    found = climb(reference, challenger)
    assert math.exp(found.log_ratio) == pytest.approx(statistics.median(ratios))


@settings(max_examples=40, deadline=None)
@given(runs, runs, st.floats(0.1, 10.0))
def test_a_clock_that_runs_faster_divides_the_ratio(
    reference: list[Made], challenger: list[Made], factor: float
) -> None:
    before = climb(reference, challenger).log_ratio
    after = climb(reference, [(run, seconds / factor) for run, seconds in challenger]).log_ratio
    assert math.exp(after) == pytest.approx(math.exp(before) / factor, nan_ok=True)


def test_who_never_gets_there_is_infinitely_slow_and_the_other_way_round() -> None:
    there, never = [([4.0, 1.0], 1.0)] * 3, [([9.0, 8.0], 1.0)] * 3
    # Rungs begin beyond the first kernel, which is all that these runs find.
    assert climb(there, never).log_ratio == math.inf
    nothing: list[Made] = [([None, None], 1.0)] * 3
    assert climb(there, nothing).log_ratio == math.inf
    assert climb(nothing, there).log_ratio == -math.inf
    assert math.isnan(climb(nothing, nothing).log_ratio)


def test_a_run_that_missed_is_later_than_any_that_did_not_and_two_misses_tie() -> None:
    slow: list[Made] = [([4.0, 3.9, 3.8, 1.0], 1.0)] * 3
    brief: list[Made] = [([4.0], 1e-6)] * 3  # it ends before the others have begun
    found = climb(slow, brief)
    for clock in (-9.0, 0.0, 9.0):
        assert (found.rungs(clock)[1] == 9).all()
    assert found.log_ratio == math.inf
    assert math.exp(found.log_bound(math.inf)) == pytest.approx(1e-6 / 4.0)
    beyond = climb([*slow[:2], ([4.0], 1.0)], brief)  # one of the reference's has missed as well
    assert (beyond.rungs(0.0)[1] == 6).all()


@settings(max_examples=40, deadline=None)
@given(runs, runs, st.floats(0.1, 10.0))
def test_a_miss_is_one_whatever_was_spent(
    reference: list[Made], challenger: list[Made], factor: float
) -> None:
    """More failed trials at the end change nothing."""
    longer = [([*run, None, None], seconds) for run, seconds in challenger]
    assert climb(reference, longer).log_ratio == pytest.approx(
        climb(reference, challenger).log_ratio, nan_ok=True
    )


def test_a_ladder_goes_from_a_share_of_the_gain_to_another() -> None:
    found = climb([([1.0, 0.1], 1.0)] * 3, [([1.0, 0.1], 1.0)] * 3, Goal(0.25, 0.75))
    [start], [stop] = found.ladder
    ladder = found.levels[start:stop]
    assert len(ladder) == 101
    assert ladder[0] == pytest.approx(1.0 + 0.25 * 9.0)
    assert ladder[-1] == pytest.approx(1.0 + 0.75 * 9.0)
    assert np.ptp(np.diff(ladder)) == pytest.approx(0.0, abs=1e-12)
    shares, _ = found.rungs(0.0)
    assert (shares[0], shares[-1]) == (pytest.approx(0.25), pytest.approx(0.75))


@pytest.mark.parametrize("goal", [Goal(0.5, 0.5), Goal(1.0, 1.0), Goal(1.0, 1.0, 5.0)], ids=str)
def test_a_single_target_is_a_single_rung(goal: Goal) -> None:
    found = climb([([1.0, 0.1], 1.0)] * 3, [([1.0, 0.1], 3.0)] * 3, goal)
    [start], [stop] = found.ladder
    assert stop - start == 1
    assert math.exp(found.log_ratio) == pytest.approx(3.0)


def test_runs_that_never_improve_have_a_single_rung() -> None:
    found = climb([([1.0, 2.0], 1.0)] * 3, [([1.0, 2.0], 3.0)] * 3)
    assert len(found.levels) == 1
    assert math.exp(found.log_ratio) == pytest.approx(3.0)


def test_each_draw_of_seeds_has_its_own_ladder() -> None:
    reference = [([4.0, 4.0 / (seed + 2)], 1.0 + seed) for seed in range(3)]
    challenger = [([4.0, 4.0 / (seed + 2)], 3.0 - seed) for seed in range(3)]
    found = climb(reference, challenger)
    drawn = np.array([[0, 0, 0], [2, 2, 2], [0, 1, 2]])
    ratios = np.exp(found.log_ratios(drawn))
    assert ratios[:2].tolist() == pytest.approx([3.0, 1.0 / 3.0])
    assert ratios[2] == pytest.approx(math.exp(found.log_ratio))


def test_the_worked_example_of_the_method() -> None:
    never = math.inf  # the second run of the reference ended below the last rung
    seconds = [[10.0, 20.0, 60.0], [10.0, 40.0, never], [5.0, 15.0, 45.0], [8.0, 20.0, 30.0]]
    found = Climb(
        levels=np.array([100.0, 200.0, 390.0]),
        log_cost=np.log(seconds),
        log_spent=np.log([60.0, 80.0, 45.0, 30.0]),
        first=np.full(4, 50.0),
        best=np.array([400.0, 380.0, 400.0, 400.0]),
        goal=Goal(0.1),
        tolerance=0.0,
    )
    assert math.exp(found.log_ratio) == pytest.approx(0.5)
    assert found.rungs(0.0)[1].tolist() == [-4.0, -3.0, -4.0]
    assert found.rungs(math.log(0.501))[1].sum() < 0.0 < found.rungs(math.log(0.499))[1].sum()
