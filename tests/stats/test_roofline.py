"""The roofline: what a machine allows, and how much of it kernels reach."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import Bandwidth, MachinePeak, ReferenceKernel
from pytest_ansorbench.stats.roofline import over_implementation, roof_gflops, share_of_roof
from tests.synthetic import PEAK, held_against, make_case_result, make_run


@pytest.mark.parametrize(
    ("flops", "argument_bytes", "roof"),
    [
        (10**9, 1_000, 100.0),  # computing takes longer
        (1_000, 1_000, 50.0),  # 1 FLOP a byte, from a cache of 50 GB/s
        (1_000, 10_000, 5.0),
        (10_000, 100_000, 1.0),  # fits no cache: 10 GB/s
        (500, 0, 100.0),  # unknown
    ],
)
def test_the_lower_of_computing_and_moving_the_arguments_once(flops, argument_bytes, roof) -> None:
    assert roof_gflops(PEAK, flops, argument_bytes) == pytest.approx(roof)


def test_cold_arguments_come_from_memory() -> None:
    assert roof_gflops(PEAK, 1_000, 1_000, warm=False) == pytest.approx(10.0)


@given(st.integers(1, 10**12), st.integers(0, 10**9), st.integers(0, 10**9))
def test_more_bytes_never_raise_the_roof(flops: int, fewer: int, more: int) -> None:
    fewer, more = sorted((fewer, more))
    high, low = (roof_gflops(PEAK, flops, moved) for moved in (fewer, more))
    assert low <= high <= PEAK.compute_gflops or not fewer


def test_the_share_is_the_median_over_runs() -> None:
    runs = [make_run(seed=seed, final=final) for seed, final in enumerate((1.0, 0.5, 0.02))]
    case = dataclasses.replace(held_against(), runs=tuple(runs))
    assert share_of_roof(case, "default") == pytest.approx(2.0 / 100.0)


def test_another_machine_s_peak_says_nothing() -> None:
    assert share_of_roof(held_against(machine="another"), "default") is None
    assert share_of_roof(held_against(peak=None), "default") is None
    assert share_of_roof(make_case_result(), "default") is None


def test_latencies_of_other_implementations_over_those_of_the_arm() -> None:
    case = held_against()
    assert over_implementation(case, "default", "torch") == pytest.approx(2.0)
    assert over_implementation(case, "default", "numpy") is None  # not timed
    failed = ReferenceKernel("torch", "2.9", (), "torch has no kernel")
    assert over_implementation(held_against(kernels=(failed,)), "default", "torch") is None


def test_a_machine_whose_caches_are_unknown_has_a_roof_as_well() -> None:
    peak = MachinePeak("2026-01-01T00:00:00+00:00", 10.0, (Bandwidth("", 100, 1.0),))
    assert roof_gflops(peak, 50, 1_000) == pytest.approx(0.05)
