"""What a machine can do at most: multiply-adds from registers, and reading, size by size.

The programs here are for CPUs; those for a GPU are in `gpu_peak`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Final

import numpy as np

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.measure.vnni import VNNI_BYTES_SINCE
from pytest_ansorbench.records import Bandwidth, MachinePeak, Operands
from pytest_ansorbench.yardsticks import gpu_peak
from pytest_ansorbench.yardsticks.gpu_peak import CHAINS, ROW

_LANES: Final = (4, 8, 16)
"""Widths of vectors to try, in 32-bit floats: one of them is the machine's."""
_STEPS: Final = 100_000
_STEPS_ON_GPU: Final = 20_000
_SIZES: Final = tuple(1 << power for power in range(16, 29, 2))
"""Bytes from 64 KiB to 256 MiB: from less than level-1 caches hold to more than most others."""
_READ_BYTES: Final = 1 << 27
_READ_BYTES_ON_GPU: Final = 1 << 33
"""Bytes to read in one call, so that starting the threads does not count."""
_EFFORT: Final = SideBySide(
    slice_ms=5.0, precision=0.0, turns=Span(20, 20), sets=Span(1, 1), most_s=1.0
)
_FLOAT_BYTES: Final = 4
_DOT_PRODUCTS: Final = (
    ("llvm.x86.sse2.pmadd.wd", 4, "int16"),
    ("llvm.x86.avx2.pmadd.wd", 8, "int16"),
    ("llvm.x86.avx512.pmaddw.d.512", 16, "int16"),
    ("llvm.x86.avx512.vpdpbusd.128", 4, "int8"),
    ("llvm.x86.avx512.vpdpbusd.256", 8, "int8"),
    ("llvm.x86.avx512.vpdpbusd.512", 16, "int8"),
    ("llvm.aarch64.neon.sdot", 4, "int8"),
)
"""LLVM's intrinsics that multiply bytes, or words that bytes were widened to, and add the products
in 32 bits without saturating; how many sums each has, and the type of its operands."""
MEMORY: Final = "memory"


def measure_peak(engine: Engine, operands: Operands) -> MachinePeak | None:
    """Measure what the machine of a started engine can do; None if that cannot be measured.

    Of several samples the fastest counts: a peak is what others on the machine only take away from.
    """
    reading: Callable[[int, int, int], Program]  # of so many readers, their rows, how often
    gpu = engine.machine.get("gpu")
    if gpu is None:
        readers = threads_of(engine.target)
        caches_bytes = _reached(engine.machine, readers)
        computing, reading, read_bytes = _computing(readers, operands), reads, _READ_BYTES
    else:
        multiprocessors, caches_bytes = int(gpu["multiprocessors"]), {"L2": int(gpu["l2_bytes"])}
        computing = _computing_on_gpu(multiprocessors * gpu_peak.BLOCKS, operands)
        readers = multiprocessors * gpu_peak.READING_BLOCKS
        reading, read_bytes = gpu_peak.reads, _READ_BYTES_ON_GPU
    rates = []
    for flops, program in computing:
        latency_s = _fastest_s(engine, program)
        if latency_s is not None:
            rates.append(flops / latency_s / 1e9)
    if not rates:
        return None
    bandwidths = []
    row_bytes = readers * ROW * _FLOAT_BYTES
    for rows in dict.fromkeys(max(1, size // row_bytes) for size in _SIZES):
        working_set_bytes = rows * row_bytes
        times = max(1, read_bytes // working_set_bytes)
        latency_s = _fastest_s(engine, reading(readers, rows, times))
        if latency_s is not None:
            gbytes_per_s = working_set_bytes * times / latency_s / 1e9
            level = _level(caches_bytes, working_set_bytes)
            bandwidths.append(Bandwidth(level, working_set_bytes, gbytes_per_s))
    if not bandwidths:
        return None
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return MachinePeak(now, max(rates), tuple(bandwidths), operands)


def _computing(threads: int, operands: Operands) -> Iterator[tuple[int, Program]]:
    """Programs to try, each with its multiplications and additions."""
    flops = 2 * threads * CHAINS * _STEPS
    if operands == "float32":
        for lanes in _LANES:
            yield flops * lanes, multiply_adds(threads, lanes)
        return
    for name, lanes, dtype in _DOT_PRODUCTS:
        # A CPU without it ends the process that compiles; another architecture has no such name.
        if (program := dot_products(threads, name, lanes, dtype)) is not None:
            yield flops * lanes * (4 // np.dtype(dtype).itemsize), program


def _computing_on_gpu(blocks: int, operands: Operands) -> Iterator[tuple[int, Program]]:
    """The same for a GPU; none for bytes, which its tensor cores multiply."""
    if operands == "float32":
        flops = 2 * blocks * gpu_peak.THREADS * CHAINS * _STEPS_ON_GPU
        yield flops, gpu_peak.multiply_adds(blocks, _STEPS_ON_GPU)


def multiply_adds(threads: int, lanes: int) -> Program:
    """Vectors in registers are halved and added to, 12 * lanes * 100,000 times on each thread."""
    from tvm import te, tirx
    from tvm.s_tir import Schedule

    addend = te.placeholder((CHAINS, lanes), name="addend")
    step = te.reduce_axis((0, _STEPS), name="step")
    fold = te.comm_reducer(
        lambda total, more: total * tirx.const(0.5, "float32") + more,
        lambda dtype: tirx.const(0.0, dtype),
        name="fold",
    )
    folded = te.compute(
        (threads, CHAINS, lanes),
        lambda thread, chain, lane: fold(addend[chain, lane], axis=step),
        name="folded",
    )
    schedule = Schedule(te.create_prim_func([addend, folded]))
    block = schedule.get_sblock("folded")
    registers = schedule.cache_write(block, 0, "local")
    thread, chain, lane, over = schedule.get_loops(block)
    schedule.reverse_compute_at(registers, thread)
    schedule.reorder(over, chain, lane)
    schedule.parallel(thread)
    schedule.unroll(chain)
    schedule.vectorize(lane)
    *_, chain, lane = schedule.get_loops(registers)
    schedule.unroll(chain)
    schedule.vectorize(lane)
    start = schedule.decompose_reduction(block, over)
    schedule.unroll(schedule.get_loops(start)[-2])
    return Program.operator(schedule.mod)


def dot_products(threads: int, name: str, sums: int, dtype: str) -> Program | None:
    """Vectors of sums in registers are multiplied and added to, as often as by `multiply_adds`.

    None if this LLVM does not know the intrinsic. The last sums are operands of the next product,
    or of its addition: no step can be done once for all.
    """
    from tvm.script import ir as I
    from tvm.script import tirx as T
    from tvm.target.codegen import llvm_lookup_intrinsic_id, llvm_version_major

    if not llvm_lookup_intrinsic_id(name):
        return None
    of_words = "vpdpbusd" in name and llvm_version_major() < VNNI_BYTES_SINCE
    held = "int32" if of_words else dtype
    operand = f"{held}x{sums * 4 // np.dtype(held).itemsize}"
    vector = f"int32x{sums}"

    def fold(total: Any, more: Any) -> Any:
        if dtype == "int8":
            byte = T.reinterpret(operand, more)
            return T.call_llvm_pure_intrin(vector, name, total, byte, byte)
        words = (T.reinterpret(operand, one) for one in (total, more))
        return more + T.call_llvm_pure_intrin(vector, name, *words)

    @I.ir_module
    class Module:
        @T.prim_func  # type: ignore[untyped-decorator]
        def main(given: T.handle, written: T.handle) -> None:
            # Else sums are written to memory at each step.
            T.func_attr({"tirx.noalias": True})
            addend = T.match_buffer(given, (CHAINS, sums), "int32")
            folded = T.match_buffer(written, (threads, CHAINS, sums), "int32")
            for thread in T.parallel(threads):
                total = T.alloc_local((CHAINS, sums), "int32")
                for chain in T.unroll(CHAINS):
                    total[chain, T.Ramp(0, 1, sums)] = T.Broadcast(T.int32(0), sums)
                for _ in range(_STEPS):
                    for chain in T.unroll(CHAINS):
                        total[chain, T.Ramp(0, 1, sums)] = fold(
                            total[chain, T.Ramp(0, 1, sums)], addend[chain, T.Ramp(0, 1, sums)]
                        )
                for chain in T.unroll(CHAINS):
                    folded[thread, chain, T.Ramp(0, 1, sums)] = total[chain, T.Ramp(0, 1, sums)]

    return Program.operator(Module)


def reads(threads: int, rows: int, times: int) -> Program:
    """Each thread adds up rows of its own, of 128 floats, over and over."""
    from tvm import te
    from tvm.s_tir import Schedule

    data = te.placeholder((threads, rows, ROW), name="data")
    again = te.reduce_axis((0, times), name="again")
    row = te.reduce_axis((0, rows), name="row")
    sums = te.compute(
        (threads, ROW),
        lambda thread, lane: te.sum(data[thread, row, lane], axis=[again, row]),
        name="sums",
    )
    schedule = Schedule(te.create_prim_func([data, sums]))
    block = schedule.get_sblock("sums")
    registers = schedule.cache_write(block, 0, "local")
    thread, lane, over, inner = schedule.get_loops(block)
    schedule.reverse_compute_at(registers, thread)
    schedule.reorder(over, inner, lane)
    schedule.parallel(thread)
    schedule.vectorize(lane)
    schedule.vectorize(schedule.get_loops(registers)[-1])
    schedule.decompose_reduction(block, over)
    return Program.operator(schedule.mod)


def _fastest_s(engine: Engine, program: Program) -> float | None:
    """Seconds of a call in the fastest of its slices; None if it failed."""
    [measured] = engine.measure_side_by_side([program], None, _EFFORT)
    return min(measured.latencies_s) if measured.status == "ok" else None


def _reached(machine: Mapping[str, Any], threads: int) -> dict[str, int]:
    """What the caches of so many cores hold, by level; all cores share the last one."""
    caches_bytes = machine.get("caches_bytes") or {}
    cores = machine.get("physical_cores") or threads
    return {
        level: size if level == max(caches_bytes) else size * min(threads, cores) // cores
        for level, size in caches_bytes.items()
    }


def _level(caches_bytes: Mapping[str, int], working_set_bytes: int) -> str:
    """The smallest level of caches that holds as much; empty if nobody knows them."""
    if not caches_bytes:
        return ""
    by_size = sorted(caches_bytes.items(), key=lambda one: one[1])
    return next((level for level, size in by_size if size >= working_set_bytes), MEMORY)
