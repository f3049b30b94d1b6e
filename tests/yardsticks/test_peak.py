"""What this machine can do at most."""

from __future__ import annotations

import dataclasses

import numpy as np

from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.workloads import Check
from pytest_ansorbench.yardsticks import measure_peak
from pytest_ansorbench.yardsticks import peak as module
from pytest_ansorbench.yardsticks.peak import multiply_adds, reads
from tests.measure.test_noise_probe import Hasty
from tests.synthetic import make_case_result, make_result, make_yardsticks

ONCE = SideBySide(slice_ms=0.1, turns=Span(1, 1), sets=Span(1, 1))


def test_it_is_what_a_roofline_needs(engine, monkeypatch):
    monkeypatch.setattr(module, "_SIZES", (2**16, 2**27))
    monkeypatch.setattr(module, "_EFFORT", dataclasses.replace(module._EFFORT, turns=Span(8, 8)))
    peak = measure_peak(engine)
    assert peak.compute_gflops > 1.0
    sizes = [one.working_set_bytes for one in peak.bandwidths]
    assert sizes == sorted(sizes) and sizes[0] <= 2**16 and sizes[-1] >= 2**27
    # The smallest set stays in the nearest caches, the largest one does not.
    assert peak.bandwidths[0].gbytes_per_s > peak.bandwidths[-1].gbytes_per_s
    found = dataclasses.replace(make_yardsticks(), peak=peak)
    case = dataclasses.replace(make_case_result(), yardsticks=(found,))
    assert make_result(case).cases == (case,)


def test_limits_that_do_not_let_it_be_measured_leave_it_unknown(target):
    with Hasty(target) as hasty:
        assert measure_peak(hasty) is None


def test_each_thread_multiplies_and_adds_in_registers(engine):
    program = multiply_adds(2, 4)
    addend = np.full((12, 4), 3.0, np.float32)
    # x / 2 + 3 settles at 6.
    check = Check((addend,), np.full((2, 12, 4), 6.0, np.float32), 1e-6, 0.0)
    [measured] = engine.measure_side_by_side([program], check, ONCE)
    assert measured.status == "ok", measured.error


def test_every_row_is_read_as_often_as_asked(engine):
    data = np.arange(2 * 3 * 128, dtype=np.float32).reshape(2, 3, 128)
    check = Check((data,), 5.0 * data.sum(axis=1), 1e-6, 0.0)
    [measured] = engine.measure_side_by_side([reads(2, 3, 5)], check, ONCE)
    assert measured.status == "ok", measured.error
