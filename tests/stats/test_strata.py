"""The test over several cases, by strata that are made up and by those of one case."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pytest_ansorbench.stats.climb import Climb
from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.goal import Goal
from pytest_ansorbench.stats.ladder import ladder_chance, ladder_ratio
from pytest_ansorbench.stats.paired_runs import PairedRuns
from pytest_ansorbench.stats.strata import Strata
from pytest_ansorbench.stats.stratum import Stratum, kernel_stratum, search_stratum
from pytest_ansorbench.stats.throughput_ratio import log_latencies, throughput_ratio
from pytest_ansorbench.stats.trajectory import Floats, Trajectory
from tests.stats.test_ladder import END, pairings
from tests.synthetic import make_run


def shifted(*values: float) -> Stratum:
    """Differences of pairs whose arms are exchanged, as plain as can be."""
    signs = np.array(list(itertools.product([1, -1], repeat=len(values))))

    def badness(log_ratio: float) -> Floats:
        sums = signs @ (np.array(values) - log_ratio)
        return np.concatenate([sums[:1], sums])

    return Stratum(badness, np.array(values), len(signs), complete=True)


def test_all_combinations_are_counted() -> None:
    strata = Strata((shifted(1.0, 2.0), shifted(3.0)))
    assert strata.smallest_chance == pytest.approx(1 / 8)
    assert strata.chance(0.0, 0.01) == 1 / 8
    assert strata.chance(10.0, 0.01) == 1.0


def test_each_stratum_counts_by_its_own_spread() -> None:
    """A case whose figures are a thousand times as large does not drown the others."""
    small, large = shifted(0.1, 0.11, 0.12, 0.13, 0.14), shifted(-100.0, 100.0)
    assert Strata((small, large)).chance(0.0, 0.01) < 0.1


def test_where_strata_balance_lies_between_them() -> None:
    one, other = shifted(1.0, 1.0, 1.0), shifted(2.0, 2.0, 2.0)
    assert 1.0 < Strata((one, other)).log_ratio() < 2.0
    assert Strata((one,)).log_ratio() == pytest.approx(1.0, abs=1e-3)


def test_more_cases_have_a_narrower_interval() -> None:
    [paired] = pairings(5, 2.0)
    stratum = search_stratum(Climb.of(paired, "search_s", Goal()))
    assert stratum is not None
    widths = []
    for cases in (1, 4):
        strata = Strata((stratum,) * cases)
        low, high = strata.interval(strata.log_ratio(), 0.025)
        widths.append(high - low)
    assert widths[1] < widths[0]


@pytest.mark.parametrize("repeats", [4, 5, 6])  # with more, each draws relabellings of its own
def test_a_suite_of_one_case_is_that_case(repeats: int) -> None:
    [paired] = pairings(repeats, 2.0)
    stratum = search_stratum(Climb.of(paired, "search_s", Goal()))
    assert stratum is not None
    strata, alone = Strata((stratum,)), ladder_ratio(Climb.of(paired, "search_s", Goal()), 0.95)
    at = strata.log_ratio()
    assert math.exp(at) == pytest.approx(alone.value, rel=2e-3)
    low, high = np.exp(strata.interval(at, 0.025))
    assert (low, high) == pytest.approx((alone.low, alone.high), rel=2e-3)
    assert strata.chance(math.log(1.2), 0.01) == pytest.approx(
        ladder_chance(Climb.of(paired, "search_s", Goal()), 1.2, 0.01)
    )


@pytest.mark.parametrize("missing", ["reference", "challenger"])
def test_of_one_case_half_of_whose_runs_miss_it_is_what_the_case_has(missing: str) -> None:
    """Votes then balance up to infinity."""

    def runs(side: str, seconds: float) -> list[Trajectory]:
        ends = [1.0, 1.0, *([2.0, 2.0] if side == missing else [1.0, 1.0])]
        return [
            Trajectory.of(make_run(latencies=(8.0, 4.0, 2.0, end), seconds_per_trial=seconds))
            for end in ends
        ]

    paired = PairedRuns(runs("reference", 2.0), runs("challenger", 1.0), END, 0.01)
    climb = Climb.of(paired, "search_s", END)
    stratum = search_stratum(climb)
    assert stratum is not None
    assert ladder_ratio(climb, 0.95).value == pytest.approx(0.5)
    assert math.exp(Strata((stratum,)).log_ratio()) == pytest.approx(0.5, rel=2e-3)


def test_one_case_is_no_surer_than_the_relabellings_that_it_drew() -> None:
    [paired] = pairings(12, 8.0)
    stratum = search_stratum(Climb.of(paired, "search_s", Goal()))
    assert stratum is not None and not stratum.complete
    assert Strata((stratum,)).chance(0.0, 1e-6) >= 1 / (1 + stratum.relabellings)


def test_kernels_of_one_case_have_the_interval_of_that_case() -> None:
    rng = np.random.default_rng(1)
    [paired] = pairings(5, 1.0)
    for run in (*paired.reference, *paired.challenger):
        object.__setattr__(run, "final_s", float(rng.lognormal(0.0, 0.2)))
    logs = log_latencies(paired)
    assert logs is not None
    strata = Strata((kernel_stratum(logs),))
    at = strata.log_ratio()
    alone = throughput_ratio(paired, 0.95)
    assert math.exp(-at) == pytest.approx(alone.value, rel=2e-3)
    low, high = np.exp([-end for end in reversed(strata.interval(at, 0.025))])
    assert (low, high) == pytest.approx((alone.low, alone.high), rel=2e-3)


def test_too_few_relabellings_have_no_ends() -> None:
    [paired] = pairings(2, 2.0)
    stratum = search_stratum(Climb.of(paired, "search_s", Goal()))
    assert stratum is not None
    strata = Strata((stratum,))
    assert strata.interval(strata.log_ratio(), 0.025) == (-math.inf, math.inf)


def test_kernels_that_are_missing_on_both_sides_are_no_stratum() -> None:
    [paired] = pairings(3, 1.0)
    assert FIGURES["throughput_ratio"].measure().strata(paired) == ()
