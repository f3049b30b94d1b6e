"""TVM's code without a search."""

from __future__ import annotations

from pytest_ansorbench.environment import resolve_target
from pytest_ansorbench.measure.local.engine import LocalEngine
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.yardsticks import untuned_kernel
from tests.faults import kernel


def test_it_is_timed_with_the_engine_and_failures_are_told():
    with LocalEngine(resolve_target(None), EngineSettings()) as engine:
        timed = untuned_kernel(engine, kernel("fine"), None)
        assert (timed.implementation, timed.error) == ("untuned", "")
        assert timed.version and timed.latency_s > 0.0
    with LocalEngine(resolve_target(None), EngineSettings(build_timeout_s=1e-6)) as hasty:
        failed = untuned_kernel(hasty, kernel("fine"), None)
        assert failed.latencies_s == () and failed.error
