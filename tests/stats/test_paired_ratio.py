"""Ratios from pairs of neighbours: what they shrug off, and how surely they are known."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.stats.paired_ratio import NeighbourRatios, log_ratios
from tests.synthetic import make_slices

SECONDS = st.floats(1e-7, 1e-1)
slices = functools.partial(make_slices, 0)


def paired(one, other):
    ratios = NeighbourRatios.of(one, other)
    assert ratios is not None
    return ratios


@st.composite
def two_programs(draw):
    """Latencies of two programs in the same slices."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=5))
    return tuple(
        slices(*(tuple(draw(st.lists(SECONDS, min_size=n, max_size=n))) for n in sizes))
        for _ in range(2)
    )


def test_the_ratio_is_of_the_first_to_the_second():
    ratios = paired(slices((2.0, 2.0), (2.0,)), slices((1.0, 1.0), (1.0,)))
    assert ratios.log_ratio == pytest.approx(math.log(2))
    assert [len(logs) for logs in ratios.logs] == [2, 1]


@given(two_programs())
def test_the_other_way_round_it_is_the_inverse(programs):
    one, other = programs
    there, back = paired(one, other), paired(other, one)
    assert there.log_ratio == pytest.approx(-back.log_ratio, abs=1e-12)
    assert there.half_width() == pytest.approx(back.half_width(), abs=1e-12)
    assert there.last_half_width() == pytest.approx(back.last_half_width(), abs=1e-12)


@given(two_programs(), st.data())
def test_what_slows_both_down_alike_changes_nothing(programs, data):
    one, other = programs
    count = len(one.latencies_s)
    factors = data.draw(st.lists(st.floats(0.1, 10), min_size=count, max_size=count))

    def disturbed(measured):
        latencies_s = times(measured.latencies_s, factors)
        return Remeasurement(0, "ok", latencies_s, sets=measured.sets)

    before, after = paired(one, other), paired(disturbed(one), disturbed(other))
    assert after.log_ratio == pytest.approx(before.log_ratio, abs=1e-9)
    assert after.half_width() == pytest.approx(before.half_width(), abs=1e-9)


def times(latencies_s, factors):
    return tuple(s * factor for s, factor in zip(latencies_s, factors, strict=True))


def test_one_spoiled_set_of_three_does_not_matter():
    whole = paired(slices((1.0, 1.1), (1.0, 1.1), (1.0, 1.1)), slices(*[(1.0, 1.0)] * 3))
    spoiled = paired(slices((1.0, 1.1), (1.4, 1.5), (1.0, 1.1)), slices(*[(1.0, 1.0)] * 3))
    assert spoiled.log_ratio == whole.log_ratio


def test_but_it_is_a_reason_to_go_on():
    even = (1.0,) * 20
    spoiled = paired(slices(even, (1.4,) * 20, even), slices(even, even, even))
    assert spoiled.log_ratio == 0.0
    assert spoiled.half_width() > 0.1


def test_spoiled_slices_do_not_matter_while_they_are_few():
    one = (1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    other = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0)
    assert paired(slices(one), slices(other)).log_ratio == 0.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Remeasurement(0, "ok", (1.0, 1.0)), Remeasurement(0, "ok", (1.0, 1.0))),
        (slices((1.0, 1.0)), Remeasurement(0, "ok", (1.0, 1.0))),
        (slices((1.0, 1.0)), slices((1.0,), (1.0,))),
        (slices((1.0, 1.0)), slices((1.0, 1.0), (1.0,))),
        (slices((1.0, 1.0)), Remeasurement(0, "run-error", (), "planted")),
        (Remeasurement(0, "run-error", ()), Remeasurement(0, "run-error", ())),
    ],
    ids=["samples", "slices and samples", "other sets", "fewer sets", "a failure", "failures"],
)
def test_what_was_not_measured_in_the_same_slices_has_no_ratio(one, other):
    assert NeighbourRatios.of(one, other) is None
    assert NeighbourRatios.of(other, one) is None


def test_slices_without_neighbours_are_an_error():
    with pytest.raises(ValueError, match="zip"):
        log_ratios((1.0, 2.0), (1.0,))


@pytest.mark.parametrize("pairs", range(1, 6))
def test_below_six_pairs_a_median_has_no_interval(pairs):
    ratios = NeighbourRatios(((0.0,) * pairs,))
    assert ratios.last_half_width() == ratios.half_width() == math.inf


@pytest.mark.parametrize(
    ("pairs", "rank"), [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6), (60, 22), (4000, 1938)]
)
def test_ranks_are_those_of_the_tables(pairs, rank):
    """E.g. Table A.7 of confidence intervals for a median: 20 values, ranks 6 and 15."""
    ratios = NeighbourRatios((tuple(range(pairs)),))
    assert ratios.last_half_width() == (pairs + 1 - 2 * rank) / 2


def test_only_the_last_set_counts_while_it_runs():
    steady, unsteady = (0.0,) * 10, (0.0, 1.0) * 5
    assert NeighbourRatios((unsteady, steady)).last_half_width() == 0.0
    assert NeighbourRatios((steady, unsteady)).last_half_width() == 0.5


def test_what_sets_differ_by_is_in_the_half_width():
    steady = NeighbourRatios(tuple((level,) * 20 for level in (0.0, 0.01, 0.02)))
    assert steady.last_half_width() == 0.0
    assert steady.half_width() == pytest.approx(1.96 * 0.01 / math.sqrt(3))


def heavy_tailed(rng, size):
    """Student's with two degrees of freedom: neither a variance nor an end."""
    return rng.standard_t(2, size)


def skewed(rng, size):
    """Disturbances that slow one of a pair down, to a median of 0."""
    return rng.exponential(1.0, size) - math.log(2)


def covered(logs_of, half_width_of):
    """Share of 1000 measurements whose interval has the true ratio, which is 0."""
    rng = np.random.default_rng(1)
    measured = [NeighbourRatios(logs_of(rng).tolist()) for _ in range(1000)]
    return sum(abs(ratios.log_ratio) <= half_width_of(ratios) for ratios in measured) / 1000


@pytest.mark.parametrize("noise", [heavy_tailed, skewed])
@pytest.mark.parametrize("pairs", [6, 8, 20, 60])
def test_the_interval_of_one_set_covers_the_true_ratio(noise, pairs):
    share = covered(lambda rng: noise(rng, (1, pairs)), NeighbourRatios.last_half_width)
    assert share >= 0.93


@pytest.mark.parametrize("noise", [heavy_tailed, skewed])
@pytest.mark.parametrize("sets", [1, 2, 3, 6])
def test_the_interval_of_all_sets_covers_the_true_ratio(noise, sets):
    share = covered(lambda rng: noise(rng, (sets, 20)), NeighbourRatios.half_width)
    assert 0.93 <= share <= 0.99


@pytest.mark.parametrize(("sets", "least"), [(3, 0.75), (6, 0.84)])
def test_what_belongs_to_processes_is_covered_less_surely(sets, least):
    """The spread of three is known badly: it says when to stop, and is no interval to report."""

    def logs_of(rng):
        return rng.normal(0.0, 1.0, (sets, 1)) + 0.1 * heavy_tailed(rng, (sets, 20))

    assert least <= covered(logs_of, NeighbourRatios.half_width) < 0.95
