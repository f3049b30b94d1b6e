"""Trials of a run and of a round."""

import pytest

from pytest_ansorbench.budget import Budget, BudgetError, Trials


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
