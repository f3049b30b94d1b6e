"""Task schedulers: the formula, and what every scheduler owes to a search."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.strategies.scheduling import (
    SCHEDULERS,
    GradientScheduler,
    RoundRobin,
    TaskState,
)


def never(choices):
    raise AssertionError("nothing is left to chance here")


def standing(*best_s, weight=1, finished=False):
    return TaskState(weight, best_s, finished)


HISTORIES = st.lists(st.floats(1e-6, 10.0) | st.just(math.inf), max_size=6).map(
    lambda values: sorted(values, reverse=True)
)
STANDINGS = st.lists(
    st.builds(TaskState, st.integers(1, 20), HISTORIES, st.booleans()), min_size=1, max_size=8
).filter(lambda tasks: not all(task.finished for task in tasks))


@pytest.mark.parametrize("name", SCHEDULERS)
@given(STANDINGS, st.integers(0, 100))
def test_any_scheduler_chooses_a_task_that_is_not_finished(name, tasks, drawn):
    chosen = SCHEDULERS[name].next_task(tasks, lambda choices: drawn % choices)
    assert not tasks[chosen].finished


@pytest.mark.parametrize("name", SCHEDULERS)
@given(STANDINGS)
def test_any_scheduler_gives_every_task_a_round_first(name, tasks):
    fresh = [i for i, task in enumerate(tasks) if not task.finished and not task.best_s]
    chosen = SCHEDULERS[name].next_task(tasks, lambda choices: 0)
    if fresh:
        assert chosen == fresh[0]


def test_the_gain_is_ansor_s_formula():
    scheduler = GradientScheduler(alpha=0.2, window=3)
    # Five rounds: the best fell from 7 to 4 in the last three of them.
    task = standing(10.0, 7.0, 6.0, 5.0, 4.0, weight=3)
    assert scheduler.expected_gain(task) == pytest.approx(3 * (0.2 * (7 - 4) / 3 + 0.8 * 4 / 5))


def test_the_past_counts_only_once_it_is_long_enough():
    task = standing(9.0, 5.0, 4.0)
    assert GradientScheduler().expected_gain(task) == pytest.approx(0.8 * 4 / 3)
    longer = standing(9.0, 5.0, 4.0, 3.0)
    assert GradientScheduler().expected_gain(longer) == pytest.approx(0.2 * 2.0 + 0.8 * 3 / 4)


@pytest.mark.parametrize("name", ["gradient", "balanced"])
def test_a_task_without_a_valid_trial_waits_after_four_rounds(name):
    scheduler, other = SCHEDULERS[name], standing(1e-6, weight=1)
    for rounds in range(4):
        tasks = [other, standing(*[math.inf] * rounds), standing(*[math.inf] * 3)]
        assert scheduler.next_task(tasks, never) == 1
    assert scheduler.next_task([standing(*[math.inf] * 4), other], never) == 1
    tasks = [standing(math.inf, finished=True), standing(2.0), other]
    assert scheduler.next_task(tasks, never) == 1


def test_weight_counts():
    tasks = [standing(2.0, weight=1), standing(1.0, weight=3), standing(2.5, weight=1)]
    assert GradientScheduler().next_task(tasks, never) == 1


def test_equals_are_left_to_chance():
    tasks = [standing(1.0, finished=True), standing(1.0), standing(1.0), standing(1.0)]
    asked = []
    chosen = GradientScheduler().next_task(tasks, lambda choices: asked.append(choices) or 1)
    assert (asked, chosen) == ([3], 2)


def test_a_task_below_the_floor_comes_before_the_steepest_curve():
    scheduler = GradientScheduler(floor=0.5)
    tasks = [standing(*[9.0] * 5), standing(1e-6), standing(1e-6, finished=True)]
    assert scheduler.next_task(tasks, never) == 1  # 1 round of 3 on average
    tasks[1] = standing(1e-6, 1e-6)
    assert scheduler.next_task(tasks, never) == 0
    assert GradientScheduler().next_task(tasks, never) == 0


def test_round_robin_takes_turns():
    tasks = [standing(1.0, 1.0), standing(9.0), standing(1.0)]
    assert RoundRobin().next_task(tasks, never) == 1
    tasks[1] = standing(9.0, 9.0)
    assert RoundRobin().next_task(tasks, never) == 2


def test_it_agrees_with_tvm_s_own_scheduler_on_a_made_up_network():
    """TVM's GradientBased, given the same latencies, would go through tasks in this order.

    Worked out by hand after gradient_based.cc: weight * (0.2 * g1 + 0.8 * g2), g1 = 0 for fewer
    than four rounds, g2 = best / rounds.
    """
    scheduler = GradientScheduler()
    best_s = {0: [8.0, 4.0, 4.0, 4.0], 1: [3.0, 3.0, 3.0, 3.0], 2: [1.0, 1.0, 1.0, 1.0]}
    done = {0: 0, 1: 0, 2: 0}
    order = []
    for _ in range(8):
        tasks = [standing(*best_s[i][: done[i]]) for i in range(3)]
        chosen = scheduler.next_task(tasks, never)
        order.append(chosen)
        done[chosen] += 1
    # Gains after the first three: 6.4, 2.4, 0.8; then 0 has 1.6, then 1 has 1.2, 0 has 1.07, ...
    assert order == [0, 1, 2, 0, 1, 0, 1, 0]


def test_a_task_without_a_valid_trial_is_left_to_chance_with_its_like():
    tasks = [standing(*[math.inf] * 4), standing(*[math.inf] * 4)]
    assert GradientScheduler().next_task(tasks, lambda choices: 1) == 1
    assert GradientScheduler().next_task([*tasks, standing(1.0)], never) == 2
