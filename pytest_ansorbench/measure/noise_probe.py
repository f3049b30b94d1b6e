"""Looks at how steady a machine is, with any engine: a fixed kernel beside itself, in slices."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import NoiseTrace

if TYPE_CHECKING:
    from tvm import IRModule

SLICE_MS: Final = 3.0
"""Short beside the memory that noise has, long beside the message that asks for a slice."""
_ROWS, _COLUMNS, _LENGTH = 256, 64, 256
_LANES: Final = 16


def observe_noise(engine: Engine, duration_s: float) -> NoiseTrace | None:
    """Time a fixed kernel beside itself; None if the engine's limits do not let it be measured."""
    on_gpu = engine.target.kind.name == "cuda"
    program = Program.operator(steady_product() if on_gpu else steady_kernel())
    most = max(1, math.ceil(duration_s / (2 * SLICE_MS / 1e3)))
    effort = SideBySide(
        slice_ms=SLICE_MS,
        precision=0.0,
        turns=Span(min(most, SideBySide.turns.least), most),
        sets=Span(1, 1),
        most_s=duration_s,
    )
    started_s = time.monotonic()
    twins = engine.measure_side_by_side([program, program], None, effort)
    elapsed_s = time.monotonic() - started_s
    if any(twin.status != "ok" for twin in twins):
        return None
    slices = sorted(
        (place, process, latency_s)
        for process, twin in enumerate(twins)
        for place, latency_s in zip(twin.places, twin.latencies_s, strict=True)
    )
    return NoiseTrace(
        SLICE_MS / 1e3,
        elapsed_s,
        tuple(latency_s for _, _, latency_s in slices),
        tuple(process for _, process, _ in slices),
    )


def steady_kernel() -> IRModule:
    """A product of two small matrices on all cores, scheduled by hand: always the same kernel."""
    from tvm.s_tir import Schedule

    schedule = Schedule(steady_product())
    block = schedule.get_sblock("product")
    rows, columns, length = schedule.get_loops(block)
    columns, lanes = schedule.split(columns, [None, _LANES])
    schedule.reorder(rows, columns, length, lanes)
    schedule.parallel(rows)
    schedule.vectorize(lanes)
    schedule.decompose_reduction(block, length)
    return schedule.mod


def steady_product() -> IRModule:
    """The same without a schedule: an engine gives it a GPU's threads, always in the same way."""
    from tvm import te
    from tvm.s_tir import Schedule

    left = te.placeholder((_ROWS, _LENGTH), name="left")
    right = te.placeholder((_LENGTH, _COLUMNS), name="right")
    k = te.reduce_axis((0, _LENGTH), name="k")
    product = te.compute(
        (_ROWS, _COLUMNS), lambda i, j: te.sum(left[i, k] * right[k, j], axis=k), name="product"
    )
    return Schedule(te.create_prim_func([left, right, product])).mod
