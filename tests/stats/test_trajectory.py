"""First hitting of a target."""

from __future__ import annotations

import math

from pytest_ansorbench.stats import Hit, first_hit
from tests.synthetic import make_run


def test_first_trial_at_least_as_fast_is_the_hit() -> None:
    run = make_run(latencies=[4.0, None, 2.0, 1.0], seconds_per_trial=0.5)
    assert first_hit(run, 2.0) == Hit(reached=True, search_s=1.5, trials=3)


def test_a_miss_counts_the_whole_run() -> None:
    run = make_run(latencies=[4.0, None, 2.0], seconds_per_trial=0.5)
    assert first_hit(run, 1.0) == Hit(reached=False, search_s=1.5, trials=3)


def test_an_infinite_target_takes_a_valid_trial() -> None:
    assert first_hit(make_run(latencies=[None, 9.0]), math.inf).trials == 2
    assert not first_hit(make_run(latencies=[None, None]), math.inf).reached


def test_a_run_without_trials_spent_nothing() -> None:
    assert first_hit(make_run(latencies=[]), 1.0) == Hit(reached=False, search_s=0, trials=0)
