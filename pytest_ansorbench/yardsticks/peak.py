"""What a machine can do at most: multiply-adds from registers, and reading, size by size."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Final

from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Bandwidth, MachinePeak

_LANES: Final = (4, 8, 16)
"""Widths of vectors to try, in 32-bit floats: one of them is the machine's."""
_CHAINS: Final = 12
"""Sums that do not wait for each other: two a cycle, four cycles each, and some to spare."""
_STEPS: Final = 100_000
_ROW: Final = 128
"""Floats that a core reads at a time, into as many sums."""
_SIZES: Final = tuple(1 << power for power in range(16, 29, 2))
"""Bytes from 64 KiB to 256 MiB: from less than level-1 caches hold to more than most others."""
_READ_BYTES: Final = 1 << 27
"""Bytes to read in one call, so that starting the threads does not count."""
_EFFORT: Final = SideBySide(
    slice_ms=5.0, precision=0.0, turns=Span(20, 20), sets=Span(1, 1), most_s=1.0
)
_FLOAT_BYTES: Final = 4
MEMORY: Final = "memory"


def measure_peak(engine: Engine) -> MachinePeak | None:
    """Measure what the machine of a started engine can do; None if its limits do not let it.

    Of several samples the fastest counts: a peak is what others on the machine only take away from.
    """
    threads = int(engine.target.attrs["num-cores"])
    rates = []
    for lanes in _LANES:
        latency_s = _fastest_s(engine, multiply_adds(threads, lanes))
        if latency_s is not None:
            rates.append(2 * threads * _CHAINS * lanes * _STEPS / latency_s / 1e9)
    bandwidths = []
    for size in _SIZES:
        rows = max(1, size // (threads * _ROW * _FLOAT_BYTES))
        working_set_bytes = threads * rows * _ROW * _FLOAT_BYTES
        times = max(1, _READ_BYTES // working_set_bytes)
        latency_s = _fastest_s(engine, reads(threads, rows, times))
        if latency_s is not None:
            gbytes_per_s = working_set_bytes * times / latency_s / 1e9
            level = _level(engine.machine.get("caches_bytes"), working_set_bytes)
            bandwidths.append(Bandwidth(level, working_set_bytes, gbytes_per_s))
    if not rates or not bandwidths:
        return None
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return MachinePeak(now, max(rates), tuple(bandwidths))


def multiply_adds(threads: int, lanes: int) -> Program:
    """Vectors in registers are halved and added to, 12 * lanes * 100,000 times on each thread."""
    from tvm import te, tirx
    from tvm.s_tir import Schedule

    addend = te.placeholder((_CHAINS, lanes), name="addend")
    step = te.reduce_axis((0, _STEPS), name="step")
    fold = te.comm_reducer(
        lambda total, more: total * tirx.const(0.5, "float32") + more,
        lambda dtype: tirx.const(0.0, dtype),
        name="fold",
    )
    folded = te.compute(
        (threads, _CHAINS, lanes),
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


def reads(threads: int, rows: int, times: int) -> Program:
    """Each thread adds up rows of its own, of 128 floats, over and over."""
    from tvm import te
    from tvm.s_tir import Schedule

    data = te.placeholder((threads, rows, _ROW), name="data")
    again = te.reduce_axis((0, times), name="again")
    row = te.reduce_axis((0, rows), name="row")
    sums = te.compute(
        (threads, _ROW),
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


def _level(caches_bytes: Mapping[str, int] | None, working_set_bytes: int) -> str:
    """The smallest level of caches that holds as much."""
    if not caches_bytes:
        return ""
    by_size = sorted(caches_bytes.items(), key=lambda one: one[1])
    return next((level for level, size in by_size if size >= working_set_bytes), MEMORY)
