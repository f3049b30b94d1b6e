"""The tasks of a network, as TVM extracts and weighs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_ansorbench.workloads.case import Task

if TYPE_CHECKING:
    from tvm import IRModule


def extract_tasks(program: IRModule) -> tuple[Task, ...]:
    """Find the different functions that a network calls, and how often it calls each.

    Args:
        program: A fused Relax module, as from `fuse`.

    Returns:
        One task for each different function, in the order of its first call. Its weight is the
        number of its calls. It has no check: nobody but TVM says what it is to compute.
    """
    from tvm.s_tir.analysis import estimate_tir_flops
    from tvm.s_tir.meta_schedule.relax_integration import extract_tasks as tvm_extract_tasks
    from tvm.target import Target

    order = {name: place for place, name in reversed(list(enumerate(_called(program))))}
    extracted = tvm_extract_tasks(program, Target("llvm"))
    return tuple(
        Task(
            name=str(task.task_name),
            mod=task.dispatched[0],
            # A task that only moves data still has a throughput to be compared by.
            flops=max(1, int(estimate_tir_flops(task.dispatched[0]))),
            weight=int(task.weight),
        )
        for task in sorted(extracted, key=lambda task: order[str(task.task_name)])
    )


def _called(program: IRModule) -> Iterator[str]:
    """Names of the functions that `main` calls, in order."""
    from tvm.ir import Op
    from tvm.relax import Call

    call_tir = Op.get("relax.call_tir")
    for block in program["main"].body.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, Call) and binding.value.op == call_tir:
                yield str(binding.value.args[0].name_hint)
