"""A network's program with the schedules that a search found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tvm import IRModule

    from pytest_ansorbench.workloads.case import Task


def with_schedules(
    program: IRModule, tasks: Sequence[Task], scheduled: Sequence[IRModule | None]
) -> IRModule:
    """Put scheduled functions in the place of those that they were made from.

    What MetaSchedule's `MetaScheduleApplyDatabase` does, with programs instead of records, since
    a strategy may propose programs that have no trace.
    """
    from tvm import IRModule
    from tvm.tirx import PrimFunc
    from tvm_ffi import get_global_func, structural_equal

    normalize = get_global_func("tvm.s_tir.meta_schedule.normalize_mod")
    functions = dict(program.functions_items())
    for variable, function in functions.items():
        if variable.name_hint == "main" or not isinstance(function, PrimFunc):
            continue
        mod = normalize(function)
        for task, best in zip(tasks, scheduled, strict=True):
            if best is not None and structural_equal(mod, task.mod):
                functions[variable] = (
                    best["main"]
                    .with_attr("global_symbol", variable.name_hint)
                    .with_attr("tirx.is_scheduled", True)
                )
                break
    return IRModule(functions, attrs=program.attrs)
