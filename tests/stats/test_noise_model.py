"""What a trace of the machine's noise says: on noise that is known, because it is made up."""

from __future__ import annotations

import dataclasses
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.stats.noise_model import SLICES_MS, noise_figures, noisiest, slice_ms_for
from tests.synthetic import make_trace

SEEDS = st.integers(0, 2**16)
SHORT = dataclasses.replace(make_trace(16), latencies_s=(1.0,) * 14, processes=(0, 1) * 7)


def correlation(figures, lag_s):
    return dict(figures.memory)[lag_s]


@given(SEEDS, st.floats(0.001, 0.3), st.floats(0.004, 0.05))
def test_scatter_and_memory_are_found(seed, scatter, memory_s):
    figures = noise_figures(make_trace(2000, scatter=scatter, memory_s=memory_s, seed=seed))
    # Slices that remember each other are as many fewer.
    independent = 2000 * 3e-3 / (2 * memory_s)
    assert math.log(figures.scatter / scatter) == pytest.approx(0, abs=5 / math.sqrt(independent))
    for lag_s in (0.003, 0.03):
        truth = math.exp(-lag_s / memory_s)
        assert correlation(figures, lag_s) == pytest.approx(truth, abs=6 / math.sqrt(independent))


@given(SEEDS, st.floats(0.1, 10.0))
def test_scale_does_not_matter(seed, factor):
    trace = make_trace(200, scatter=0.1, memory_s=0.03, seed=seed)
    scaled = tuple(factor * latency_s for latency_s in trace.latencies_s)
    one, other = (noise_figures(t) for t in (trace, dataclasses.replace(trace, latencies_s=scaled)))
    assert other.level_s == pytest.approx(factor * one.level_s)
    for name in ("scatter", "ratio_error", "level_error"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-9)


@given(SEEDS, st.floats(0.5, 2.0))
def test_a_process_that_is_off_for_good_spoils_ratios_alone(seed, factor):
    trace = make_trace(400, scatter=0.05, memory_s=0.03, seed=seed)
    off = tuple(
        latency_s * (factor if process else 1.0)
        for latency_s, process in zip(trace.latencies_s, trace.processes, strict=True)
    )
    one, other = (noise_figures(t) for t in (trace, dataclasses.replace(trace, latencies_s=off)))
    assert other.scatter == pytest.approx(one.scatter)
    assert other.level_error == pytest.approx(one.level_error)
    assert other.ratio_error >= abs(math.log(factor)) - one.ratio_error - 1e-12


@pytest.mark.parametrize("memory_s", [0.0, 0.02, 0.2])
def test_errors_are_those_that_are_made(memory_s):
    traces = [
        make_trace(600, scatter=0.1, memory_s=memory_s, noise=0.01, seed=s) for s in range(60)
    ]
    figures = [noise_figures(trace) for trace in traces]
    levels = [fmean(map(math.log, trace.latencies_s)) - math.log(1e-4) for trace in traces]
    made = 1.96 * float(np.std(levels))
    # What lasts as long as the trace cannot be told from the level itself.
    least = 0.4 if memory_s == 0.2 else 0.75
    assert least * made < fmean(one.level_error for one in figures) < 1.3 * made
    ratios = [one.ratio_error for one in figures]
    assert max(ratios) < (0.05 if memory_s == 0.0 else 0.02)


def test_what_lasts_drops_out_of_ratios():
    figures = noise_figures(make_trace(scatter=0.12, memory_s=0.2, noise=0.005))
    assert figures.scatter == pytest.approx(0.12, rel=0.4)
    assert figures.ratio_error < 0.01
    assert figures.level_error > 3 * figures.ratio_error
    assert 0.05 < figures.forgotten_s < figures.told_s == pytest.approx(0.45)


@given(SEEDS)
def test_a_few_outliers_decide_nothing(seed):
    trace = make_trace(600, scatter=0.05, memory_s=0.05, seed=seed)
    spoiled = list(trace.latencies_s)
    for place in range(0, 600, 50):
        spoiled[place] *= 30
    one = noise_figures(trace)
    other = noise_figures(dataclasses.replace(trace, latencies_s=tuple(spoiled)))
    assert other.scatter == pytest.approx(one.scatter, rel=0.2)
    assert correlation(other, 0.01) == pytest.approx(correlation(one, 0.01), abs=0.25)


def test_a_machine_without_noise_has_no_memory():
    figures = noise_figures(make_trace())
    assert (figures.scatter, figures.ratio_error, figures.level_error) == (0.0, 0.0, 0.0)
    assert (figures.memory, figures.forgotten_s) == ((), None)
    assert figures.level_s == 1e-4


def test_what_is_forgotten_never_within_the_trace_is_not_told():
    latencies_s = tuple(math.exp(math.cos(math.pi * place / 600)) for place in range(600))
    figures = noise_figures(dataclasses.replace(make_trace(), latencies_s=latencies_s))
    assert figures.forgotten_s is None
    assert figures.memory[-1][0] == 0.3


def test_memory_is_told_from_one_slice_to_the_next_up_to_a_quarter():
    slow = dataclasses.replace(make_trace(200, scatter=0.1, memory_s=0.1), elapsed_s=4.0)
    assert [lag_s for lag_s, _ in noise_figures(slow).memory] == [0.03, 0.1, 0.3]
    quick = make_trace(40, scatter=0.1, memory_s=0.1)
    assert [lag_s for lag_s, _ in noise_figures(quick).memory] == [0.003, 0.01, 0.03]


def test_a_few_slices_say_nothing():
    assert noise_figures(SHORT) is None
    assert slice_ms_for(SHORT) == slice_ms_for(None) == 5.0


@pytest.mark.parametrize(
    ("memory_s", "slice_ms"), [(0.0, 5.0), (0.006, 2.0), (0.011, 5.0), (0.1, 5.0)]
)
def test_slices_are_as_long_as_the_noise_stays(memory_s, slice_ms):
    trace = make_trace(6000, scatter=0.1, memory_s=memory_s)
    assert slice_ms_for(trace) == slice_ms


@given(SEEDS, st.floats(0.0, 0.3), st.floats(0.0, 0.5), st.integers(1, 300))
def test_slices_have_one_of_the_known_lengths(seed, scatter, memory_s, pairs):
    trace = make_trace(2 * pairs, scatter=scatter, memory_s=memory_s, seed=seed)
    assert slice_ms_for(trace) in SLICES_MS


def test_the_noisiest_is_that_with_the_greatest_scatter():
    figures = [noise_figures(make_trace(scatter=scatter)) for scatter in (0.1, 0.3, 0.2)]
    assert noisiest(figures) == figures[1]
    assert noisiest([]) is None
