"""The tasks of a network, as TVM extracts and weighs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.workloads.case import Surroundings, Task
from pytest_ansorbench.workloads.dataflow import flops_of
from pytest_ansorbench.workloads.networks.relax_checks import tir_calls
from pytest_ansorbench.workloads.networks.relax_names import shape_of, type_of
from pytest_ansorbench.workloads.signature import BadProgram, check_program

if TYPE_CHECKING:
    from tvm import IRModule


def extract_tasks(program: IRModule) -> tuple[Task, ...]:
    """Find the different functions that a network calls, and how often it calls each.

    Those that cannot be tuned stay as they are.
    """
    from tvm.s_tir.meta_schedule.relax_integration import extract_tasks as tvm_extract_tasks
    from tvm.target import Target

    calls = list(_calls(program))
    order = {call.name: place for place, call in reversed(list(enumerate(calls)))}
    surroundings = _surroundings(program, calls)
    outputs = {call.name: call.outputs for call in calls}
    extracted = [
        task
        for task in tvm_extract_tasks(program, Target("llvm"))
        if _can_be_tuned(task.dispatched[0])
    ]
    return tuple(
        Task(
            name=str(task.task_name),
            mod=task.dispatched[0],
            flops=flops_of(task.dispatched[0]),
            weight=int(task.weight),
            outputs=outputs[str(task.task_name)],
            surroundings=surroundings[str(task.task_name)],
        )
        for task in sorted(extracted, key=lambda task: order[str(task.task_name)])
    )


def _can_be_tuned(mod: IRModule) -> bool:
    """Whether a function is one that can be scheduled, e.g. none that calls a library."""
    try:
        check_program(mod, "")
    except BadProgram:
        return False
    return True


@dataclass(frozen=True)
class _Call:
    """One call of a function."""

    name: str
    given: frozenset[int]
    outputs: int
    activation_bytes: int


def _calls(program: IRModule) -> Iterator[_Call]:
    """The calls of TensorIR functions, in order, in both sides of each branch."""
    from tvm.relax import Var

    params = list(program["main"].params)
    for variable, call in tir_calls(program):
        arguments = list(call.args[1])
        given = frozenset(
            index
            for index, argument in enumerate(arguments)
            if not isinstance(argument, Var) or any(map(argument.same_as, params))
        )
        activations = [a for i, a in enumerate(arguments) if i not in given]
        yield _Call(
            str(call.args[0].name_hint),
            given,
            len(getattr(type_of(variable), "fields", [variable])),
            sum(_bytes(type_of(value)) for value in (*activations, variable)),
        )


def _surroundings(program: IRModule, calls: list[_Call]) -> Mapping[str, Surroundings]:
    """The surroundings of each function, by its name.

    An inference touches all that it is given once. Memory of activations is used over and over, so
    that it is about as much as one call has of them at most.
    """
    given = sum(_bytes(type_of(param)) for param in program["main"].params)
    touched = given + max((call.activation_bytes for call in calls), default=0)
    # A function may be called with an activation where another call has a weight.
    of_all: dict[str, frozenset[int]] = {}
    for call in calls:
        of_all[call.name] = of_all.get(call.name, call.given) & call.given
    return {name: Surroundings(tuple(sorted(of)), touched) for name, of in of_all.items()}


def _bytes(type_: Any) -> int:
    """Bytes of a tensor of fixed shape; 0 for what is none."""
    shape = shape_of(type_)
    return 0 if shape is None else prod(shape) * np.dtype(str(type_.dtype)).itemsize
