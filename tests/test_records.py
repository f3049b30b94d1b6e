"""The figures that records work out of their own fields."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import Estimate, Gate, Outcome, Remeasurement, Round, Trial, Verdict
from tests.synthetic import make_case_result, make_run


def test_latency_of_a_trial_is_the_median_sample() -> None:
    assert Trial(1, 0, "ok", (3.0, 1.0, 2.0), 0, 1.0).latency_s == 2.0
    assert Trial(1, 0, "ok", (3.0,), 0, 1.0).latency_s == 3.0


def test_latency_of_samples_is_the_mean_of_the_faster_half() -> None:
    assert Remeasurement(0, "ok", (1.0,)).latency_s == 1.0
    assert Remeasurement(0, "ok", (1.0, 2.0)).latency_s == 1.0
    assert Remeasurement(0, "ok", (9.0, 1.0, 8.0, 2.0)).latency_s == 1.5
    assert Remeasurement(0, "ok", (9.0, 1.0, 8.0, 2.0, 3.0)).latency_s == 2.0


def test_latency_of_slices_is_the_median_of_the_sets_medians() -> None:
    latencies_s = (1.0, 9.0, 2.0, 5.0, 5.0, 3.0)
    assert Remeasurement(0, "ok", latencies_s, sets=(0, 0, 0, 1, 1, 2)).latency_s == 3.0
    assert Remeasurement(0, "ok", latencies_s, sets=(0, 0, 0, 1, 1, 1)).latency_s == 3.5
    assert Remeasurement(0, "ok", latencies_s, sets=(0,) * 6).latency_s == 4.0


def test_failed_measurement_has_no_latency() -> None:
    assert Trial(1, 0, "wrong-result", (), 0, 1.0, "differs").latency_s is None
    assert Remeasurement(None, "run-error", ()).latency_s is None


def test_search_time_is_the_sum_of_all_phases() -> None:
    assert Round(1, 1.0, 2.0, 4.0, 8.0).search_s == 15.0
    assert make_run(latencies=[1.0] * 5, seconds_per_trial=0.5).search_s == 2.5


def test_best_is_the_earliest_of_the_fastest() -> None:
    [best] = make_run(latencies=[None, 2.0, 1.0, 1.0]).best_trials
    assert best is not None
    assert best.index == 2


def test_a_run_without_valid_trials_has_no_best() -> None:
    run = make_run(latencies=[None, None])
    assert run.best_trials == (None,)
    assert run.estimated_s is None
    assert run.failed_trials == 2


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [
        ([], None),
        (["holds"], "holds"),
        (["holds", "undecided"], "undecided"),
        (["undecided", "broken", "holds"], "broken"),
    ],
)
def test_outcome_of_a_verdict_is_the_worst_of_its_gates(
    outcomes: list[Outcome], worst: Outcome | None
) -> None:
    comparison = make_case_result().verdicts[0].comparison
    gates = tuple(
        Gate("search_ratio", 1.0, outcome, "within", Estimate(1.0, 0.9, 1.1), 5, 0.01)
        for outcome in outcomes
    )
    assert Verdict(comparison, gates).outcome == worst


def test_records_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Estimate(1.0, 1.0, 1.0).value = 2.0  # type: ignore[misc]
