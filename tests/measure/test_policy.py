"""Measurement policies, on kernels whose latency is made up: how long they run whom."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.policy import (
    ColdMeasurement,
    ComparingMeasurement,
    FixedMeasurement,
    NetworkMeasurement,
    PairedMeasurement,
    RacingMeasurement,
)


class MadeUp:
    """A kernel whose first calls take longer, until it is warm; counts what it was made to do."""

    def __init__(self, latency_s: float, *, cold: float = 1.0, cold_calls: int = 0) -> None:
        self.latency_s = latency_s
        self.spent_s = 0.0
        self.timed: list[tuple[int, int]] = []
        self._cold = cold
        self._cold_calls = cold_calls

    def first_call(self) -> float:
        return self._call()

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        self.timed.append((calls, samples))
        self._call()
        return tuple(self._calls(calls) / calls for _ in range(samples))

    def _calls(self, calls: int) -> float:
        cold = min(calls, max(0, self._cold_calls))
        warm_s = self.latency_s * (calls - cold)
        self.spent_s += warm_s
        return warm_s + sum(self._call() for _ in range(cold))

    def _call(self) -> float:
        cold = self._cold_calls > 0
        self._cold_calls -= cold
        seconds = self.latency_s * (self._cold if cold else 1.0)
        self.spent_s += seconds
        return seconds


class Nothing:
    """A kernel that takes no time at all."""

    def first_call(self):
        return 0.0

    def time(self, calls, samples=1):
        return (0.0,) * samples


latencies = st.floats(1e-5, 1.0)


@given(latencies, st.integers(1, 3))
def test_fixed_gives_the_latency_of_a_steady_kernel(latency_s, repeat):
    samples = FixedMeasurement(repeat=repeat).measure(MadeUp(latency_s), None)
    assert samples == pytest.approx([latency_s] * repeat)


@given(latencies, st.floats(1.0, 3.0), st.integers(0, 40))
def test_fixed_fills_its_time_and_little_more(latency_s, cold, cold_calls):
    kernel = MadeUp(latency_s, cold=cold, cold_calls=cold_calls)
    FixedMeasurement().measure(kernel, None)
    calls, samples = zip(*kernel.timed, strict=True)
    assert set(samples) == {1}
    counted = sum(calls) if calls[0] * latency_s >= 0.01 / cold else sum(calls[1:])
    assert counted * latency_s * cold >= 0.1 * (1 - 1e-9)
    # Of TVM's own loop, on a kernel that gets 1.5 times as fast, twice as much is wasted.
    assert kernel.spent_s <= 0.1 + 16 * latency_s * cold


def test_fixed_makes_stock_calls_of_a_slow_kernel():
    kernel = MadeUp(0.05)
    FixedMeasurement().measure(kernel, None)
    assert kernel.timed == [(3, 1)]


def test_a_kernel_that_takes_no_time_at_all_is_measured_too():
    assert FixedMeasurement(min_repeat_ms=1).measure(Nothing(), None) == (pytest.approx(1e-9),)
    assert RacingMeasurement().measure(Nothing(), None)


@given(latencies)
def test_the_first_candidate_of_a_race_runs_in_full(latency_s):
    kernel = MadeUp(latency_s)
    samples = RacingMeasurement().measure(kernel, None)
    assert samples == pytest.approx([latency_s] * len(samples))
    assert kernel.spent_s >= min(0.1, 3 * latency_s)


@given(latencies, st.floats(0.01, 1.2))
def test_a_contender_gets_several_samples_and_at_least_stock_time(best_s, share):
    kernel = MadeUp(best_s * share)
    samples = RacingMeasurement().measure(kernel, best_s)
    calls, count = kernel.timed[-1]
    assert len(samples) == count == min(5, max(3, math.ceil(0.1 / kernel.latency_s)))
    assert calls * count * kernel.latency_s >= 0.1 * (1 - 1e-9)


@given(st.floats(0.003, 0.1), st.floats(4.1, 50.0))
def test_who_is_clearly_slower_is_called_once(best_s, times):
    kernel = MadeUp(best_s * times)
    assert RacingMeasurement().measure(kernel, best_s) == (best_s * times,)
    assert kernel.timed == []


@given(latencies, st.floats(1.3, 3.9))
def test_who_is_slower_runs_briefly(best_s, times):
    kernel = MadeUp(best_s * times)
    [latency_s] = RacingMeasurement().measure(kernel, best_s)
    assert latency_s == pytest.approx(best_s * times)
    assert kernel.spent_s <= 0.010 + 4 * kernel.latency_s


def test_a_slow_first_call_of_a_fast_kernel_does_not_end_its_race():
    kernel = MadeUp(1e-4, cold=90.0, cold_calls=1)
    samples = RacingMeasurement().measure(kernel, 1.1e-4)
    assert samples == pytest.approx([1e-4] * 5)


@given(latencies, latencies)
def test_a_race_is_never_longer_than_a_fixed_measurement_by_more_than_its_heats(latency_s, best_s):
    racing, fixed = MadeUp(latency_s), MadeUp(latency_s)
    RacingMeasurement().measure(racing, best_s)
    FixedMeasurement().measure(fixed, best_s)
    assert racing.spent_s <= fixed.spent_s + 0.010 + 8 * latency_s


def test_only_paired_measurement_compares():
    assert isinstance(PairedMeasurement(), ComparingMeasurement)
    alone = (FixedMeasurement(), RacingMeasurement(), ColdMeasurement())
    assert not any(isinstance(policy, ComparingMeasurement) for policy in alone)


class Machine:
    """A clock whose speed changes; kernels made by it meet its speed of the moment."""

    def __init__(self, speed) -> None:
        self._speed = speed
        self.now_s = 0.0

    def kernel(self, latency_s: float) -> OnMachine:
        return OnMachine(self, latency_s)

    def call(self, latency_s: float) -> float:
        seconds = latency_s * self._speed(self.now_s)
        self.now_s += seconds
        return seconds


class OnMachine:
    """A kernel on a machine; counts its slices."""

    def __init__(self, machine: Machine, latency_s: float) -> None:
        self.slices = 0
        self._machine = machine
        self._latency_s = latency_s

    def first_call(self) -> float:
        self.slices += 1
        return self._machine.call(self._latency_s)

    def time(self, calls: int, samples: int = 1) -> tuple[float, ...]:
        self.slices += samples
        self._machine.call(self._latency_s)
        return tuple(self._machine.call(self._latency_s * calls) / calls for _ in range(samples))


def compared(latency_s, best_s, *, speed=lambda now_s: 1.0, believed_s=None):
    """Compare two kernels on a machine; the samples, the machine, the incumbent."""
    machine = Machine(speed)
    incumbent = machine.kernel(best_s)
    samples = PairedMeasurement().compare(
        machine.kernel(latency_s), incumbent, believed_s or best_s
    )
    return samples, machine, incumbent


@given(latencies, st.floats(0.3, 1.2))
def test_a_contenders_latency_is_the_incumbents_times_their_ratio(best_s, share):
    samples, _, _ = compared(best_s * share, best_s)
    assert samples == pytest.approx([best_s * share] * len(samples))


@given(st.floats(1e-5, 4e-3), st.floats(0.7, 0.95), st.floats(0.5, 1.5), st.floats(0.0, 6.3))
def test_what_slows_both_alike_is_not_in_the_ratio(best_s, share, period_s, phase):
    def speed(now_s):
        return 1.0 + 0.1 * math.sin(phase + now_s * 6.3 / period_s)

    samples, _, _ = compared(best_s * share, best_s, speed=speed)
    assert statistics.median(samples) == pytest.approx(best_s * share, rel=0.02)


def test_a_latency_is_the_incumbents_own_and_not_that_of_the_moment():
    samples, _, _ = compared(0.9e-3, 1.2e-3, believed_s=1e-3)
    assert statistics.median(samples) == pytest.approx(0.75e-3)


@given(latencies, st.floats(0.01, 1.2))
def test_a_comparison_is_no_longer_than_a_race(best_s, share):
    _, machine, _ = compared(best_s * share, best_s)
    race = MadeUp(best_s * share)
    RacingMeasurement().measure(race, best_s)
    assert machine.now_s <= race.spent_s + 0.005 + 2 * best_s


@given(latencies, st.floats(2.1, 50.0))
def test_who_is_clearly_slower_does_not_wake_the_incumbent(best_s, times):
    samples, _, incumbent = compared(best_s * times, best_s)
    assert samples == pytest.approx([best_s * times])
    assert incumbent.slices == 0


@given(st.floats(1e-4, 4e-3), st.floats(1.3, 1.9))
def test_who_is_slower_is_given_up_after_one_slice_of_the_incumbent(best_s, times):
    samples, _, incumbent = compared(best_s * times, best_s)
    assert samples == pytest.approx([best_s * times])
    assert incumbent.slices == 1


@pytest.mark.parametrize("until_s", [0.012, 0.03])
def test_a_slow_moment_does_not_cost_a_contender_its_turn(until_s):
    def speed(now_s):
        return 1.7 if now_s < until_s else 1.0

    samples, _, _ = compared(0.9e-3, 1e-3, speed=speed)
    assert len(samples) > 2
    assert statistics.median(samples) == pytest.approx(0.9e-3, rel=0.02)
    [given_up_s] = RacingMeasurement().measure(Machine(speed).kernel(0.9e-3), 1e-3)
    assert given_up_s > 1.25e-3


class Scattered(OnMachine):
    """A kernel whose slices scatter."""

    def __init__(self, machine, latency_s, rng):
        super().__init__(machine, latency_s)
        self._rng = rng

    def time(self, calls, samples=1):
        spread = math.exp(self._rng.normal(0.0, 0.025))
        return tuple(seconds * spread for seconds in super().time(calls, samples))


def test_luck_does_not_add_up():
    """Sixty candidates as fast as the first leader leave its latency where it is."""
    drifts = []
    for seed in range(20):
        rng, machine = np.random.default_rng(seed), Machine(lambda now_s: 1.0)
        best_s = 1e-3
        for _ in range(60):
            one, other = (Scattered(machine, 1e-3, rng) for _ in range(2))
            best_s = min(best_s, statistics.median(PairedMeasurement().compare(one, other, best_s)))
        drifts.append(math.log(best_s / 1e-3))
    assert -0.06 < statistics.fmean(drifts) <= 0.0


def test_what_is_not_clearly_faster_is_no_faster():
    class Luck(OnMachine):
        def time(self, calls, samples=1):
            slow = 1.2 if self.slices in (4, 6) else 1.0
            return tuple(seconds * slow for seconds in super().time(calls, samples))

    machine = Machine(lambda now_s: 1.0)
    samples = PairedMeasurement().compare(Luck(machine, 0.99e-4), machine.kernel(1e-4), 1e-4)
    assert statistics.median(samples) == 1e-4


class Scripted(OnMachine):
    """A kernel of which it is said, pair by pair, whether it is faster than 1 ms."""

    def __init__(self, machine, faster):
        super().__init__(machine, 1e-3)
        self._faster = iter(faster)
        self.pairs = 0

    def time(self, calls, samples=1):
        if self.slices >= 2:  # the first call and the brief run
            self.pairs += 1
            self._latency_s = 0.98e-3 if next(self._faster) else 1.02e-3
        return super().time(calls, samples)


@given(st.lists(st.booleans(), min_size=10, max_size=10))
def test_a_comparison_ends_when_its_outcome_is_certain_and_not_before(faster):
    machine = Machine(lambda now_s: 1.0)
    candidate = Scripted(machine, faster)
    policy = PairedMeasurement(slice_ms=2.0)
    samples = policy.compare(candidate, machine.kernel(1e-3), 1e-3)
    # As if all ten pairs had been measured.
    leads = faster.count(False) <= policy.doubt * 10
    assert (statistics.median(samples) < 1e-3) == leads
    against = [at for at, one in enumerate(faster) if not one]
    assert candidate.pairs == (10 if leads else against[1] + 1)


def test_a_kernel_that_takes_no_time_at_all_is_compared_too():
    assert set(PairedMeasurement().compare(Nothing(), Nothing(), 1e-9)) == {1e-9}


@pytest.mark.parametrize(
    ("best_s", "timed"),
    [(None, [(1, 5), (1, 20)]), (0.007, [(1, 5), (1, 20)]), (0.006, [(1, 5)])],
)
def test_within_a_network_all_calls_are_samples_and_losers_have_few(best_s, timed):
    kernel = MadeUp(0.01)
    samples = NetworkMeasurement().measure(kernel, best_s)
    assert kernel.timed == timed
    assert samples == pytest.approx([0.01] * sum(samples for _, samples in timed))
