"""Trials and seconds of a run, trials of a round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.budget import (
    UNLIMITED_TRIALS,
    Budget,
    BudgetError,
    Trials,
    planned_trials,
    spent_share,
)

UNLIMITED = Trials(UNLIMITED_TRIALS)


@pytest.mark.parametrize(
    ("text", "trials"),
    [
        ("128", Trials(128)),
        (" 1 ", Trials(1)),
        ("16/task", Trials(16, per_task=True)),
        ("800 /task", Trials(800, per_task=True)),
    ],
)
def test_trials_are_parsed_and_written(text, trials):
    assert Trials.parse(text) == trials
    assert Trials.parse(str(trials)) == trials


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "many", "/task", "0/task", "16/tasks"])
def test_what_is_no_number_of_trials_is_refused(text):
    with pytest.raises(ValueError, match=r"expected a whole number of at least 1, e\.g\. 128"):
        Trials.parse(text)


@pytest.mark.parametrize(
    ("budget", "tasks", "in_all", "a_round"),
    [
        (Budget(Trials(128)), 1, 128, 16),
        (Budget(Trials(1000)), 1, 1000, 64),
        (Budget(Trials(128)), 16, 128, 4),
        (Budget(Trials(16)), 16, 16, 1),
        (Budget(Trials(16, per_task=True)), 1, 16, 2),
        (Budget(Trials(16, per_task=True)), 23, 368, 8),
        (Budget(Trials(800, per_task=True)), 23, 18_400, 64),
        (Budget(Trials(16, per_task=True), 4), 23, 368, 4),
        # Of a run time two trials a second are planned for, or those that are given.
        (Budget(UNLIMITED, run_time_s=60.0), 1, UNLIMITED_TRIALS, 15),
        (Budget(UNLIMITED, run_time_s=600.0), 25, UNLIMITED_TRIALS, 24),
        (Budget(UNLIMITED, run_time_s=3600.0), 1, UNLIMITED_TRIALS, 64),
        (Budget(UNLIMITED, run_time_s=0.01), 25, UNLIMITED_TRIALS, 1),
        (Budget(UNLIMITED, 64, run_time_s=0.01), 25, UNLIMITED_TRIALS, 64),
        (Budget(Trials(16), run_time_s=60.0), 1, 16, 2),
    ],
)
def test_a_small_round_is_an_eighth_of_all_or_half_of_a_task_s_share(
    budget, tasks, in_all, a_round
):
    assert (budget.in_all(tasks), budget.a_round(tasks)) == (in_all, a_round)
    budget.check(tasks)


@pytest.mark.parametrize(
    ("budget", "tasks", "message"),
    [
        (Budget(Trials(4), 8), 1, "bad trials 4: expected at least a round of 8, e.g. 8"),
        (
            Budget(Trials(100), 8),
            23,
            "bad trials 100: expected at least a round of 8 for each of 23 tasks, e.g. 184 or "
            "8/task",
        ),
        (Budget(Trials(10)), 23, "a round of 1 for each of 23 tasks, e.g. 23 or 1/task"),
    ],
)
def test_a_budget_too_small_for_a_round_is_refused(budget, tasks, message):
    with pytest.raises(BudgetError) as caught:
        budget.check(tasks)
    assert message in str(caught.value)
    assert caught.value.trials == budget.trials
    assert str(caught.value).endswith(caught.value.expected)


@given(st.integers(1, 10**6), st.none() | st.floats(1e-6, 1e9))
def test_at_least_one_trial_is_planned_for_and_no_more_than_are_given(trials, run_time_s):
    assert 1 <= planned_trials(trials, run_time_s) <= trials
    assert planned_trials(trials, None) == trials


@given(
    st.integers(0, 100),
    st.floats(0.0, 100.0),
    st.integers(1, 100),
    st.none() | st.floats(0.01, 100.0),
)
def test_a_budget_is_spent_when_its_trials_or_its_seconds_are(
    trials, search_s, budget_trials, run_time_s
):
    spent = spent_share(trials, search_s, budget_trials, run_time_s)
    assert 0.0 <= spent <= 1.0
    over = trials >= budget_trials or (run_time_s is not None and search_s / run_time_s >= 1.0)
    assert (spent == 1.0) == over
