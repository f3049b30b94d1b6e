"""How many repeats it takes."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.measures import SearchRatio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.power import detectable_effect, t_quantile
from pytest_ansorbench.stats.throughput_ratio import throughput_spread
from pytest_ansorbench.stats.trajectory import Trajectory
from tests.synthetic import make_run


@pytest.mark.parametrize(
    ("confidence", "degrees", "tabulated"),
    # Abramowitz and Stegun, table 26.10.
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 3, 3.182),
        (0.95, 4, 2.776),
        (0.95, 9, 2.262),
        (0.95, 30, 2.042),
        (0.99, 5, 4.032),
        (0.5, 1, 1.0),
        (0.8, 6, 1.440),
    ],
)
def test_quantiles_are_the_tabulated_ones(confidence, degrees, tabulated):
    assert t_quantile(confidence, degrees) == pytest.approx(tabulated, abs=6e-4)


def test_many_degrees_make_a_normal_distribution():
    assert t_quantile(0.95, 100_000) == pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-4)


def test_the_textbook_number() -> None:
    # An effect of one standard deviation, paired t test at 5% two-sided, power 80%: n = 10.
    assert detectable_effect(1.0, 10, 0.95) == pytest.approx(1.0, abs=0.05)


@given(st.floats(0.05, 1.0), st.integers(2, 50), st.sampled_from([0.9, 0.95, 0.999]))
def test_more_repeats_show_less(spread: float, repeats: int, level: float) -> None:
    once, again = (detectable_effect(spread, n, level) for n in (repeats, repeats + 1))
    assert 0.0 < again < once
    assert detectable_effect(2.0 * spread, repeats, level) == pytest.approx(2.0 * once)


def pairs(seconds: list[tuple[float, float]], finals: list[tuple[float, float]]) -> PairedRuns:
    arms = [
        [
            Trajectory.of(
                make_run(
                    strategy=name,
                    seed=s,
                    latencies=[2.0, 1.0],
                    seconds_per_trial=seconds[s][side],
                    final=finals[s][side],
                )
            )
            for s in range(len(seconds))
        ]
        for side, name in enumerate(("default", "fast"))
    ]
    return PairedRuns(arms[0], arms[1], Goal(), 0.0)


def test_spreads_are_those_of_log_ratios() -> None:
    rng = np.random.default_rng(0)
    times = [tuple(pair) for pair in rng.lognormal(0, 0.1, (80, 2))]
    paired = pairs(times, times)
    assert SearchRatio("search_s").spread(paired) == pytest.approx(0.1 * math.sqrt(2), rel=0.15)
    assert throughput_spread(paired) == pytest.approx(0.1 * math.sqrt(2), rel=0.15)


def test_nothing_is_said_where_too_little_is_known() -> None:
    two = pairs([(1, 2)] * 2, [(1, 2)] * 2)
    assert SearchRatio("search_s").spread(two) is None
    assert throughput_spread(two) is None
    alike = pairs([(1, 2)] * 4, [(1, 2)] * 4)
    assert throughput_spread(alike) == 0.0
    assert SearchRatio("search_s").spread(alike) == pytest.approx(0.0, abs=0.01)
    never = [Trajectory.of(make_run(strategy="fast", seed=s, latencies=[9.0])) for s in range(4)]
    lost = PairedRuns(alike.reference, never, Goal(), 0.0)
    assert SearchRatio("search_s").spread(lost) is None
    assert throughput_spread(lost) is None


def test_the_spread_in_trials_does_not_see_the_clock() -> None:
    paired = pairs([(1, 2), (2, 1), (4, 3), (1, 5)], [(1, 2)] * 4)
    assert SearchRatio("search_s").spread(paired) > 0.0
    assert SearchRatio("trials").spread(paired) == pytest.approx(0.0, abs=0.01)
