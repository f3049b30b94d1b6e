"""TVM's code without a search."""

from __future__ import annotations

from pytest_ansorbench.yardsticks import own_kernel
from tests.faults import kernel


def test_it_is_timed_with_the_engine_and_failures_are_told(engine):
    timed = own_kernel("untuned", engine, kernel("fine"), None)
    assert (timed.implementation, timed.error) == ("untuned", "")
    assert timed.version and timed.latency_s > 0.0
    failed = own_kernel("untuned", engine, kernel("unbuildable"), None)
    assert failed.latencies_s == () and failed.error
