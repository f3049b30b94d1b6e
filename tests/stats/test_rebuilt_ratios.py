"""Verdicts on kernels made again: planted losses are found, equal toolchains pass."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.records import NoiseTrace
from pytest_ansorbench.records.rebuilt_kernels import RECORDED
from pytest_ansorbench.stats.criteria import Criteria
from pytest_ansorbench.stats.rebuilt_ratios import (
    KernelLimits,
    MeanLog,
    judge_rebuilt,
    machine_change,
)
from tests.synthetic_kernels import failed, kernel, rebuilt

LIMITS = KernelLimits(0.97, 0.97)


def judged(kernels, limits=LIMITS):
    [verdict] = judge_rebuilt(kernels, Criteria(), limits)
    return verdict


def test_equal_toolchains_raise_no_alarm_and_mostly_hold():
    verdicts = [judged(rebuilt([1.0] * 12, seed=seed)) for seed in range(60)]
    assert not any(verdict.outcome == "broken" for verdict in verdicts)
    assert sum(verdict.gate.outcome == "holds" for verdict in verdicts) == 60


def test_a_suite_that_lost_five_percent_is_broken():
    verdicts = [judged(rebuilt([0.92] * 12, seed=seed)) for seed in range(40)]
    assert all(verdict.gate.outcome == "broken" for verdict in verdicts)


def test_one_kernel_that_lost_a_tenth_is_broken_among_twelve():
    verdicts = [judged(rebuilt([0.87] + [1.0] * 11, seed=seed)) for seed in range(40)]
    outcomes = [[one.gate.outcome for one in verdict.kernels] for verdict in verdicts]
    assert sum(outcome[0] == "broken" for outcome in outcomes) >= 38
    assert not any("broken" in outcome[1:] for outcome in outcomes)


def test_the_ratio_is_throughput_over_that_of_the_reference():
    verdict = judged(rebuilt([0.5, 2.0], scatter=0.001))
    assert verdict.reference == "against" and verdict.toolchain == "today"
    assert [one.ratio.value for one in verdict.kernels] == pytest.approx([0.5, 2.0], rel=0.02)
    assert verdict.ratio.value == pytest.approx(1.0, rel=0.02)


def test_without_limits_there_are_no_gates():
    verdict = judged(rebuilt([0.5, 2.0]), KernelLimits())
    assert verdict.gates == () and verdict.outcome is None


def test_a_kernel_that_only_the_reference_makes_is_broken_and_the_suite_does_not_hold():
    fine = rebuilt([1.0] * 3)
    lost = kernel("lost", (fine.kernels[0].sides[0], failed("today")))
    verdict = judged(dataclasses.replace(fine, kernels=(*fine.kernels, lost)))
    assert verdict.kernels[-1].gate.outcome == "broken"
    assert verdict.kernels[-1].gate.reason == "nothing-to-compare"
    assert verdict.gate.outcome == "undecided" and verdict.gate.lost == ("lost",)


def test_a_kernel_that_the_reference_cannot_make_has_no_gate():
    fine = rebuilt([1.0] * 3)
    lost = kernel("lost", (failed("against"), fine.kernels[0].sides[1]))
    verdict = judged(dataclasses.replace(fine, kernels=(*fine.kernels, lost)))
    assert verdict.kernels[-1].gate is None
    assert verdict.gate.outcome == "undecided"


def test_a_suite_of_which_only_the_reference_makes_a_kernel_is_broken():
    fine = rebuilt([1.0])
    lost = kernel("lost", (fine.kernels[0].sides[0], failed("today")))
    verdict = judged(dataclasses.replace(fine, kernels=(lost,)), KernelLimits(suite=0.97))
    assert verdict.ratio.bound == "undefined"
    assert (verdict.gate.outcome, verdict.gate.reason) == ("broken", "nothing-to-compare")
    assert verdict.gate.lost == ("lost",)


def test_of_two_toolchains_the_one_that_makes_nothing_is_broken():
    [fine] = rebuilt([1.0]).kernels
    three = kernel("x", (*fine.sides, failed("o1")))
    both = dataclasses.replace(rebuilt([1.0]), kernels=(three,))
    verdicts = judge_rebuilt(both, Criteria(), KernelLimits(suite=0.9))
    assert [verdict.outcome for verdict in verdicts] == ["holds", "broken"]


def test_a_suite_of_which_the_reference_makes_no_kernel_has_no_gate():
    [fine] = rebuilt([1.0]).kernels
    lost = kernel("lost", (failed("against"), fine.sides[1]))
    assert judged(dataclasses.replace(rebuilt([1.0]), kernels=(lost,))).gates == ()


def test_no_kernels_no_verdict():
    assert judge_rebuilt(dataclasses.replace(rebuilt([1.0]), kernels=()), Criteria(), LIMITS) == ()


def steady(latency_s):
    """A fixed kernel's latencies, hardly any noise."""
    latencies_s = tuple(latency_s * (1.0 + 0.001 * (i % 3)) for i in range(200))
    return NoiseTrace(0.003, 1.0, latencies_s, (0, 1) * 100)


def recorded(ratios, then_s, now_s, **more):
    kernels = rebuilt(ratios, names=(RECORDED, "today"), **more)
    return dataclasses.replace(kernels, noise_then=(steady(then_s),), noise_now=(steady(now_s),))


def test_a_slower_machine_is_divided_out_of_recorded_latencies():
    slower = recorded([0.96] * 6, 1e-3, 1e-3 / 0.96, scatter=0.003)
    assert math.exp(machine_change(slower).value) == pytest.approx(0.96)
    verdict = judged(slower)
    assert verdict.ratio.value == pytest.approx(1.0, abs=0.01)
    assert verdict.gate.outcome == "holds"


def test_slower_kernels_on_the_same_machine_are_broken():
    verdict = judged(recorded([0.9] * 6, 1e-3, 1e-3, scatter=0.003))
    assert verdict.gate.outcome == "broken"


def test_on_a_machine_that_has_changed_nothing_is_decided():
    verdict = judged(recorded([0.8] * 6, 1e-3, 1e-3 / 0.8))
    assert {gate.outcome for gate in verdict.gates} == {"undecided"}
    assert {gate.reason for gate in verdict.gates} == {"other-machine"}


def test_between_toolchains_the_machine_does_not_matter():
    kernels = rebuilt([1.0] * 6)
    assert machine_change(kernels).value == 0.0


@pytest.mark.parametrize("limit", [0.0, -1.0, math.inf, math.nan])
def test_limits_are_ratios(limit):
    with pytest.raises(ValueError, match="expected a ratio above 0"):
        KernelLimits(kernel=limit)


LOGS = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=12)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        logs = rng.normal(math.log(0.9), 0.05, 6).tolist()
        estimate = MeanLog.of(logs).estimate(0.95)
        inside += estimate.low <= 0.9 <= estimate.high
    assert 0.935 <= inside / 2000 <= 0.965


def test_of_unequal_errors_the_average_covers_too():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        kernels = [rng.normal(0.0, spread, 5).tolist() for spread in (0.2, 0.01, 0.02, 0.01)]
        estimate = MeanLog.average([MeanLog.of(logs) for logs in kernels]).estimate(0.95)
        inside += estimate.low <= 1.0 <= estimate.high
    assert inside / 2000 >= 0.935


@given(LOGS, st.floats(0.5, 2.0))
def test_a_chance_below_one_in_forty_is_an_interval_below_the_limit(logs, limit):
    mean = MeanLog.of(logs)
    if mean.error > 1e-9:
        assert (mean.chance_below(limit) < 0.025) == (mean.estimate(0.95).high < limit)


@given(LOGS, LOGS)
def test_differences_are_antisymmetric(one, other):
    there, back = (MeanLog.of(a).minus(MeanLog.of(b)) for a, b in ((one, other), (other, one)))
    assert there.value == pytest.approx(-back.value)
    assert there.error == pytest.approx(back.error)
    assert there.degrees == back.degrees


@given(LOGS)
def test_the_average_of_one_is_itself(logs):
    mean = MeanLog.of(logs)
    again = MeanLog.average([mean])
    assert again.value == pytest.approx(mean.value)
    assert again.error == pytest.approx(mean.error)
    assert again.degrees in (mean.degrees, mean.degrees - 1) or mean.error == 0.0


def test_a_single_value_tells_no_error():
    mean = MeanLog.of([0.1])
    assert mean.estimate(0.95).low == 0.0 and mean.estimate(0.95).high == math.inf
    assert mean.chance_below(0.1) == 1.0


def test_equal_values_are_certain():
    mean = MeanLog.of([math.log(0.9)] * 3)
    assert mean.chance_below(0.97) == 0.0 and mean.chance_below(0.8) == 1.0
    assert mean.estimate(0.95).low == pytest.approx(0.9)
