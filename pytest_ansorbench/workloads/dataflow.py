"""What a task's program does with numbers: how far rounding takes it, what it uses as an index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.arrays import epsilon, is_float
from pytest_ansorbench.workloads.inputs import Input
from pytest_ansorbench.workloads.signature import (
    arguments_of,
    buffer_of,
    buffers_of,
    is_load,
    is_store,
    nodes,
    outputs_of,
    reductions_of,
    same_buffer,
)

if TYPE_CHECKING:
    from tvm import IRModule


def rounding_error(mod: IRModule) -> float:
    """How far rounding may take an output, relative to its size: see `workloads.tolerance`.

    Each block adds eps of the type that it writes, times the root of the terms that it sums.
    """
    error = 0.0
    for node in nodes(mod["main"].body):
        if type(node).__name__ != "SBlock":
            continue
        terms = math.prod(map(int, reductions_of(node)))
        kinds = {np.dtype(str(buffer_of(region).dtype)) for region in node.writes}
        error += sum(epsilon(kind) * terms**0.5 for kind in kinds if is_float(kind))
    return error


def flops_of(mod: IRModule) -> int:
    """Floating-point operations of one call as TVM counts them, at least 1.

    What only moves data still has a throughput to be compared by.
    """
    from tvm.s_tir.analysis import estimate_tir_flops

    return max(1, int(estimate_tir_flops(mod)))


def task_inputs(mod: IRModule, outputs: int | None = None) -> list[Input]:
    """Describe the inputs of a task's program, all but its outputs."""
    bounds = index_bounds(mod)
    named = [name for name, _ in buffers_of(mod["main"])]
    described = [
        Input(dtype, shape, name, bound)
        for (dtype, shape), name, bound in zip(arguments_of(mod), named, bounds, strict=True)
    ]
    return described[: -(outputs or outputs_of(mod))]


def index_bounds(mod: IRModule) -> list[int | None]:
    """Of each argument that is used as an index, how many elements there are to be indexed.

    What whole numbers are made into before, as by a copy, is bounded as they are.
    """
    main = mod["main"]
    accesses = [node for node in nodes(main.body) if is_load(node) or is_store(node)]
    uses = [
        (buffer_of(inner), _number(extent))
        for node in accesses
        for index, extent in zip(node.indices, buffer_of(node).shape, strict=True)
        for inner in filter(is_load, nodes(index))
    ]
    for node in filter(is_store, reversed(accesses)):
        extents = {extent for buffer, extent in uses if same_buffer(buffer, node.buffer)}
        made_of = [buffer_of(inner) for inner in nodes(node.value) if is_load(inner)]
        whole = [buffer for buffer in made_of if "int" in str(buffer.dtype)]
        uses += [(buffer, extent) for buffer in whole for extent in extents]
    return [
        min(
            (
                extent
                for buffer, extent in uses
                if argument is not None and extent is not None and same_buffer(buffer, argument)
            ),
            default=None,
        )
        for _, argument in buffers_of(main)
    ]


def _number(extent: Any) -> int | None:
    value = getattr(extent, "value", None)
    return None if value is None else int(value)
