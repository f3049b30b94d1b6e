"""A look at the machine's noise, with any engine."""

from __future__ import annotations

import pytest

from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.noise_probe import SLICE_MS, observe_noise, steady_kernel
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.records import Remeasurement
from tests.fast_engine import FastEngine


def test_slices_come_in_order_of_time_one_of_either_process_in_every_two(engine):
    trace = observe_noise(engine, 0.2)
    assert trace.slice_s == SLICE_MS / 1e3
    assert 2 <= len(trace.latencies_s) <= 68
    assert sum(trace.processes) == len(trace.processes) / 2


def test_it_takes_the_time_that_it_is_given(engine):
    assert observe_noise(engine, 0.3).elapsed_s > 0.25


def test_any_engine_will_do(target):
    with FastEngine(target) as engine:
        trace = observe_noise(engine, 2.0)
    assert len(trace.latencies_s) >= 20
    assert len(set(trace.latencies_s)) == 1


def test_the_kernel_is_the_same_every_time():
    from tvm_ffi import structural_equal

    assert structural_equal(steady_kernel(), steady_kernel())


class Hasty(FastEngine):
    """An engine whose limits let nothing be built."""

    def build(self, programs, check, limit_s=None):
        return [Built("build-timeout", 0.0, "no result after 0 s") for _ in programs]


class Limping(FastEngine):
    """An engine on which nothing runs."""

    def measure_side_by_side(self, programs, check, effort):
        return [Remeasurement(None, "run-timeout", (), "planted") for _ in programs]


@pytest.mark.parametrize("kind", [Hasty, Limping])
def test_limits_that_do_not_let_it_run_leave_the_noise_unknown(target, kind):
    with kind(target) as engine:
        assert observe_noise(engine, 0.1) is None


def test_a_broken_engine_says_so(target):
    with FastEngine(target, fails_at=1) as engine, pytest.raises(EngineError, match="planted"):
        observe_noise(engine, 0.1)
