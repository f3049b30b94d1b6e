"""`benchmarks/draft_stopping.py` on made-up runs."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.strategies import Plateau
from tests.synthetic import make_run

LATENCIES = (8.0, 4.0, None, 4.0, 4.0, 4.0, 2.0, 1.0)
"""Two trials a round; the fourth round gains after two that did not."""
LEADS = tuple(
    Remeasurement(trial, "ok", (latency,)) for trial, latency in ((0, 8.0), (1, 5.0), (7, 1.0))
)
RUN = dataclasses.replace(make_run(strategy="draft", latencies=LATENCIES), leads=LEADS)


@pytest.fixture
def script(import_script):
    return import_script("draft_stopping")


@pytest.mark.parametrize(("looked_back", "trials"), [(2, 4), (4, 6), (6, 8), (8, 8)])
def test_a_run_ends_before_the_round_in_which_the_rule_is_reached(script, looked_back, trials):
    cut = script.cut(RUN, Plateau(looked_back))
    assert (cut.trials, cut.all_trials) == (trials, 8)
    assert (cut.spent_s, cut.all_s) == (trials, 8.0)
    # As measured again: 5 seconds and not 4.
    assert cut.throughput == (1.0 if trials == 8 else 1.0 / 5.0)


def test_a_run_that_goes_on_loses_nothing(script):
    assert script.summary([script.cut(RUN, Plateau(8))]) == ("0 of 1", 1.0, 1.0, 1.0, 1.0)


def test_runs_count_by_their_trials_and_seconds(script):
    whole, half = script.cut(RUN, Plateau(8)), script.cut(RUN, Plateau(2))
    ended, trials, seconds, throughput, worst = script.summary([whole, half])
    assert (ended, trials, seconds) == ("1 of 2", 0.75, 0.75)
    assert (throughput, worst) == (pytest.approx(0.2**0.5), 0.2)
