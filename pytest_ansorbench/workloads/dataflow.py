"""What a program does with numbers: how far rounding takes it, which are indices, what it moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.arrays import epsilon, is_float
from pytest_ansorbench.workloads.inputs import Input
from pytest_ansorbench.workloads.networks.winograd import CANCELLATION
from pytest_ansorbench.workloads.signature import (
    arguments_of,
    buffer_of,
    buffers_of,
    is_choice,
    is_load,
    is_store,
    nodes,
    outputs_of,
    reductions_of,
    same_buffer,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule

    from pytest_ansorbench.workloads.case import Task

_FEW: Final = 0.01
"""One in a hundred thousand was seen of a 3 x 3 convolution of 64 channels."""
_STEP: Final = 2.0**-8
"""What a layer's steps add to the error of a network, relative to its outputs."""
_CONDITIONS: Final = ("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not")


@dataclass(frozen=True)
class Rounding:
    """How far rounding may take outputs.

    Where floats become numbers of 8 bits, sums that are added in another order become the next
    number now and then: a whole step, a few hundredths of what is usual there.

    Attributes:
        error: Of all elements, relative to an output's size: see `workloads.tolerance`.
        few: Share of the elements that may be further off, by a few steps.
    """

    error: float
    few: float = 0.0

    @classmethod
    def of(cls, mod: IRModule) -> Rounding:
        """Of a task: each block adds eps of what it writes times the root of the terms it sums.

        Sums by Winograd are off by as much of their terms, which nearly cancel each other.
        """
        error, steps = 0.0, False
        for node in nodes(mod["main"].body):
            if type(node).__name__ != "SBlock":
                continue
            terms = math.prod(map(int, reductions_of(node)))
            written, read = (_kinds(regions) for regions in (node.writes, node.reads))
            error += sum(epsilon(kind) * terms**0.5 for kind in written if is_float(kind))
            if str(node.annotations.get("schedule_rule", "")).endswith("winograd_inverse"):
                error *= CANCELLATION
            eight_bits = any(one.itemsize == 1 and one.kind in "iu" for one in written)
            steps |= eight_bits and any(map(is_float, read))
        return cls(error, _FEW if steps else 0.0)

    @classmethod
    def of_network(cls, tasks: Iterable[Task]) -> Rounding:
        """Of all layers together: errors add up, steps as independent ones do."""
        layers = [(task.weight, cls.of(task.mod)) for task in tasks]
        error = sum(weight * one.error for weight, one in layers)
        steps = sum(weight for weight, one in layers if one.few)
        return cls(error + _STEP * steps**0.5, _FEW if steps else 0.0)


def _kinds(regions: Iterable[Any]) -> set[np.dtype[Any]]:
    """Data types; of vectors, e.g. `float32x4`, those of their elements."""
    return {np.dtype(str(buffer_of(region).dtype).partition("x")[0]) for region in regions}


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


def index_bounds(mod: IRModule, of_last: int | None = None) -> list[int | None]:
    """Of each argument that is used as an index, one more than the largest that it may be.

    What becomes an index later, as by a copy or by adding a constant, is bounded so that it stays
    within what is indexed. Where that is not known, as of a sum, the bound is 1: zeros.

    Args:
        mod: The program.
        of_last: The bound of its last argument, an output that is used as an index elsewhere.
    """
    main = mod["main"]
    accesses = [node for node in nodes(main.body) if is_load(node) or is_store(node)]
    stores = [*filter(is_store, accesses)]
    uses = [
        use
        for node in accesses
        for index, extent in zip(node.indices, buffer_of(node).shape, strict=True)
        for use in _made_of(index, _number(extent), stores)
    ]
    if of_last is not None:
        uses.append((buffers_of(main)[-1][1], of_last))
    for node in reversed(stores):
        bounds = {bound for buffer, bound in uses if same_buffer(buffer, node.buffer)}
        made_of = [use for bound in bounds for use in _made_of(node.value, bound, stores)]
        uses += [(buffer, bound) for buffer, bound in made_of if "int" in str(buffer.dtype)]
    return [
        min(
            (
                bound
                for buffer, bound in uses
                if argument is not None and same_buffer(buffer, argument)
            ),
            default=None,
        )
        for _, argument in buffers_of(main)
    ]


def _made_of(number: Any, bound: int | None, stores: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """The buffers that a number is made of, with the bounds that keep the number below its own.

    What only negative numbers are made into sets none.
    """
    kind = type(number).__name__
    if bound is None or bound < 1 or kind in _CONDITIONS:
        return
    if is_load(number):
        yield buffer_of(number), bound
    elif kind == "Cast":
        yield from _made_of(number.value, bound, stores)
    elif kind in ("Min", "Max"):
        for part in (number.a, number.b):
            yield from _made_of(part, bound, stores)
    elif kind == "Add" and (added := _constant(number.b)) is not None and added >= 0:
        yield from _made_of(number.a, bound - added, stores)
    elif kind == "Select" or (hasattr(number, "args") and is_choice(number)):
        condition, chosen, other = (
            (number.condition, number.true_value, number.false_value)
            if kind == "Select"
            else number.args
        )
        if not _is_negative(other, condition, stores):
            yield from _made_of(chosen, bound, stores)
        yield from _made_of(other, bound, stores)
    else:
        most = bound if kind in ("Mod", "FloorMod") else 1
        yield from ((buffer_of(part), most) for part in nodes(number) if is_load(part))


def _is_negative(number: Any, condition: Any, stores: Sequence[Any]) -> bool:
    """Whether a condition, or what is read there, is that a number read is below 0."""
    read = [buffer_of(part) for part in nodes(condition) if is_load(part)]
    written = (
        store.value for store in stores if any(same_buffer(store.buffer, one) for one in read)
    )
    return is_load(number) and any(
        type(one).__name__ == "LT"
        and _constant(one.b) == 0
        and is_load(one.a)
        and same_buffer(buffer_of(one.a), buffer_of(number))
        for one in (condition, *written)
    )


def _constant(number: Any) -> int | None:
    return int(number.value) if type(number).__name__ == "IntImm" else None


def moved_elements(mod: IRModule, inputs: Sequence[NDArray[Any]]) -> list[int]:
    """Of each argument, how many elements a call with these inputs reads or writes at least.

    Where indices choose rows of one, they are those of as many rows as there are different indices.
    """
    arguments = [buffer for _, buffer in buffers_of(mod["main"])]
    given = [*zip(arguments, inputs, strict=False)]  # not the outputs
    loads = [node for node in nodes(mod["main"].body) if is_load(node)]

    def read(load: Any, size: int) -> int:
        plain = 1
        chosen: list[int] = []
        for index, extent in zip(load.indices, buffer_of(load).shape, strict=True):
            choosing = [buffer_of(node) for node in nodes(index) if is_load(node)]
            if choosing:
                arrays = (a for one in choosing for buffer, a in given if same_buffer(one, buffer))
                chosen += [1, *(np.unique(array).size for array in arrays)]
            else:
                plain *= _number(extent) or 1
        return min(size, plain * max(chosen)) if chosen else size

    sizes = [math.prod(shape) for _, shape in arguments_of(mod)]
    return [
        max((read(one, size) for one in loads if same_buffer(buffer_of(one), buffer)), default=size)
        for buffer, size in zip(arguments, sizes, strict=True)
    ]


def _number(extent: Any) -> int | None:
    value = getattr(extent, "value", None)
    return None if value is None else int(value)
