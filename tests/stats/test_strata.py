"""The test over several cases, by strata that are made up and by those of one case."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from pytest_ansorbench.stats.figures import FIGURES
from pytest_ansorbench.stats.ladder import ladder_chance, ladder_ratio
from pytest_ansorbench.stats.permutation_tests import log_latencies
from pytest_ansorbench.stats.strata import Strata
from pytest_ansorbench.stats.stratum import KernelStratum, SearchStratum
from pytest_ansorbench.stats.throughput_ratio import throughput_ratio
from tests.stats.test_ladder import pairings


@dataclass(frozen=True)
class Shifted:
    """Differences of pairs whose arms are exchanged, as plain as can be."""

    values: tuple[float, ...]
    complete: bool = True

    @property
    def relabellings(self) -> int:
        return 2 ** len(self.values)

    @property
    def gaps(self):
        return np.array(self.values)

    def badness(self, log_ratio: float):
        signs = np.array(list(itertools.product([1, -1], repeat=len(self.values))))
        sums = signs @ (np.array(self.values) - log_ratio)
        return np.concatenate([sums[:1], sums])


def test_all_combinations_are_counted() -> None:
    strata = Strata((Shifted((1.0, 2.0)), Shifted((3.0,))))
    assert strata.smallest_chance == pytest.approx(1 / 8)
    assert strata.chance(0.0, 0.01) == 1 / 8
    assert strata.chance(10.0, 0.01) == 1.0


def test_each_stratum_counts_by_its_own_spread() -> None:
    """A case whose figures are a thousand times as large does not drown the others."""
    small, large = Shifted((0.1, 0.11, 0.12, 0.13, 0.14)), Shifted((-100.0, 100.0))
    assert Strata((small, large)).chance(0.0, 0.01) < 0.1


def test_where_strata_balance_lies_between_them() -> None:
    one, other = Shifted((1.0, 1.0, 1.0)), Shifted((2.0, 2.0, 2.0))
    assert 1.0 < Strata((one, other)).log_ratio() < 2.0
    assert Strata((one,)).log_ratio() == pytest.approx(1.0, abs=1e-3)


def test_more_cases_have_a_narrower_interval() -> None:
    [paired] = pairings(5, 2.0)
    stratum = SearchStratum.of(paired, "search_s")
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
    stratum = SearchStratum.of(paired, "search_s")
    assert stratum is not None
    strata, alone = Strata((stratum,)), ladder_ratio(paired, "search_s", 0.95)
    at = strata.log_ratio()
    assert math.exp(at) == pytest.approx(alone.value, rel=2e-3)
    low, high = np.exp(strata.interval(at, 0.025))
    assert (low, high) == pytest.approx((alone.low, alone.high), rel=2e-3)
    assert strata.chance(math.log(1.2), 0.01) == pytest.approx(
        ladder_chance(paired, "search_s", 1.2, 0.01)
    )


def test_kernels_of_one_case_have_the_interval_of_that_case() -> None:
    rng = np.random.default_rng(1)
    [paired] = pairings(5, 1.0)
    for run in (*paired.reference, *paired.challenger):
        object.__setattr__(run, "final_s", float(rng.lognormal(0.0, 0.2)))
    logs = log_latencies(paired.reference, paired.challenger)
    assert logs is not None
    strata = Strata((KernelStratum.of(logs),))
    at = strata.log_ratio()
    alone = throughput_ratio(paired.reference, paired.challenger, 0.95)
    assert math.exp(-at) == pytest.approx(alone.value, rel=2e-3)
    low, high = np.exp([-end for end in reversed(strata.interval(at, 0.025))])
    assert (low, high) == pytest.approx((alone.low, alone.high), rel=2e-3)


def test_too_few_deals_have_no_ends() -> None:
    [paired] = pairings(2, 2.0)
    stratum = SearchStratum.of(paired, "search_s")
    assert stratum is not None
    strata = Strata((stratum,))
    assert strata.interval(strata.log_ratio(), 0.025) == (-math.inf, math.inf)


def test_kernels_that_are_missing_on_both_sides_are_no_stratum() -> None:
    [paired] = pairings(3, 1.0)
    kernels = FIGURES["throughput_ratio"].strata
    assert kernels is not None and kernels(paired) == ()
