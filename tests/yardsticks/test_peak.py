"""What this machine can do at most."""

from __future__ import annotations

import dataclasses
import itertools
import platform

import numpy as np
import pytest

from pytest_ansorbench.measure.local.lowering import lowered
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.workloads import Check
from pytest_ansorbench.yardsticks import gpu_peak, measure_peak
from pytest_ansorbench.yardsticks import peak as module
from pytest_ansorbench.yardsticks.peak import _DOT_PRODUCTS, dot_products, multiply_adds, reads
from tests.measure.test_noise_probe import Hasty
from tests.synthetic import held_against, make_result

ONCE = SideBySide(slice_ms=0.1, turns=Span(1, 1), sets=Span(1, 1))


def comes_out_right(engine, program, check):
    [measured] = engine.measure_side_by_side([program], check, ONCE)
    assert measured.status == "ok", measured.error


@pytest.mark.parametrize("operands", ["float32", "int8"])
def test_it_is_what_a_roofline_needs(engine, monkeypatch, operands):
    monkeypatch.setattr(module, "_SIZES", (2**16, 2**27))
    monkeypatch.setattr(module, "_EFFORT", dataclasses.replace(module._EFFORT, turns=Span(8, 8)))
    peak = measure_peak(engine, operands)
    assert peak.operands == operands and peak.compute_gflops > 1.0
    sizes = [one.working_set_bytes for one in peak.bandwidths]
    assert sizes == sorted(sizes) and sizes[0] <= 2**16 and sizes[-1] >= 2**27
    # The smallest set stays in the nearest caches, the largest one does not.
    assert peak.bandwidths[0].gbytes_per_s > peak.bandwidths[-1].gbytes_per_s
    case = held_against(peak=peak)
    assert make_result(case).cases == (case,)


def test_caches_of_cores_that_do_not_read_hold_nothing():
    kib = {"L1": 8 * 48, "L2": 8 * 2048, "L3": 16384}
    machine = {
        "caches_bytes": {level: size << 10 for level, size in kib.items()},
        "physical_cores": 8,
    }
    levels = {
        threads: [
            module._level(module._reached(machine, threads), size << 10)
            for size in (64, 256, 4096, 8192, 32768)
        ]
        for threads in (2, 8, 16)
    }
    assert levels == {
        2: ["L1", "L2", "L2", "L3", "memory"],
        8: ["L1", "L1", "L2", "L2", "memory"],
        16: ["L1", "L1", "L2", "L2", "memory"],
    }
    assert module._level(module._reached({"caches_bytes": None}, 2), 64) == ""


@pytest.mark.parametrize("operands", ["float32", "int8"])
def test_limits_that_do_not_let_it_be_measured_leave_it_unknown(target, operands):
    with Hasty(target) as hasty:
        assert measure_peak(hasty, operands) is None


def test_each_thread_multiplies_and_adds_in_registers(engine):
    addend = np.full((12, 4), 3.0, np.float32)
    # x / 2 + 3 settles at 6.
    check = Check((addend,), np.full((2, 12, 4), 6.0, np.float32), 1e-6, 0.0)
    comes_out_right(engine, multiply_adds(2, 4), check)


def serial(program):
    """A GPU's program with loops in the place of its threads, which a CPU runs."""
    from tvm import IRModule, tirx
    from tvm_ffi import structural_map

    def one_by_one(loop):
        if loop.kind != tirx.ForKind.THREAD_BINDING:
            return loop
        return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)

    function = program.mod["main"]
    body = structural_map(function.body, (tirx.For, one_by_one))
    return Program.operator(IRModule({"main": function.with_body(body)}))


def test_each_of_a_gpus_threads_multiplies_and_adds(engine):
    addend = np.full((12,), 3.0, np.float32)
    check = Check((addend,), np.full((2, 1024, 12), 6.0, np.float32), 1e-6, 0.0)
    comes_out_right(engine, serial(gpu_peak.multiply_adds(2, 50)), check)


def test_every_row_is_read_by_a_gpu_as_often_as_asked(engine):
    data = np.arange(2 * 3 * 128, dtype=np.float32).reshape(2, 3, 128)
    each = data.sum(axis=1)
    # Each block begins with rows of its own.
    check = Check((data,), 3.0 * each + 2.0 * each[::-1], 1e-6, 0.0)
    comes_out_right(engine, serial(gpu_peak.reads(2, 3, 5)), check)


def test_every_row_is_read_as_often_as_asked(engine):
    data = np.arange(2 * 3 * 128, dtype=np.float32).reshape(2, 3, 128)
    check = Check((data,), 5.0 * data.sum(axis=1), 1e-6, 0.0)
    comes_out_right(engine, reads(2, 3, 5), check)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the intrinsic is one of x86")
def test_each_thread_adds_products_of_words(engine, monkeypatch):
    monkeypatch.setattr(module, "_STEPS", 3)
    addend = np.full((12, 4), 3, np.int32)
    # The words of a sum below 2^16 are the sum and 0: 0 * 3 + 3, 3 * 3 + 3, 12 * 3 + 3.
    check = Check((addend,), np.full((2, 12, 4), 39, np.int32))
    comes_out_right(engine, dot_products(2, *_DOT_PRODUCTS[0]), check)


@pytest.mark.parametrize("name, sums, dtype", [one for one in _DOT_PRODUCTS if "vpdp" in one[0]])
def test_vnni_multiplies_bytes_where_a_cpu_has_it(name, sums, dtype):
    from tvm.target import Target

    cpu = Target({"kind": "llvm", "mtriple": "x86_64-linux-gnu", "mcpu": "icelake-server"})
    assembly = lowered(dot_products(2, name, sums, dtype).mod, cpu).inspect_source("asm")
    runs = [
        len(list(lines))
        for is_product, lines in itertools.groupby(
            assembly.splitlines(), key=lambda line: "vpdpbusd" in line
        )
        if is_product
    ]
    # Sums stay in registers: a step is nothing but twelve products.
    assert runs and all(run % 12 == 0 for run in runs)


def test_an_intrinsic_that_llvm_does_not_know_is_left_out():
    assert dot_products(2, "llvm.x86.no.such", 4, "int8") is None
