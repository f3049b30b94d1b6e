"""What a program computes before it is tuned: the reference where there is no other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.measure.engine import CrashedError, UntunedError
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.workloads.case import (
    Check,
    DrawnNetwork,
    NetworkCase,
    RewrittenNetwork,
    Task,
)
from pytest_ansorbench.workloads.checking import best_check, check_of
from pytest_ansorbench.workloads.dataflow import Rounding, task_inputs
from pytest_ansorbench.workloads.inputs import BadInputs, Ways, draws
from pytest_ansorbench.workloads.networks.kernelbench import KernelBenchNetwork
from pytest_ansorbench.workloads.networks.main_inputs import main_inputs
from pytest_ansorbench.workloads.signature import REDUCTION, SPATIAL, nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule

    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.checking import Outputs


def task_check(engine: Engine, task: Task) -> Check:
    """Have a task's untuned program say what it computes.

    Raises:
        UntunedError: It does not run.
    """
    ways = draws(task_inputs(task.mod, task.outputs), task.inputs)
    mod = in_good_order(task.mod) if engine.target.kind.name == "llvm" else task.mod
    return _computed(engine, Program.operator(mod), ways, Rounding.of(task.mod))[1]


def in_good_order(mod: IRModule) -> IRModule:
    """A task's program whose sums have a loop over neighbours in memory innermost.

    LLVM computes several elements at a time then, each by the additions that it had, in their
    order: convolutions take a tenth of their time. What does not lend itself to that stays as it
    is.
    """
    from tvm.s_tir import Schedule, ScheduleError

    blocks = [node for node in nodes(mod["main"].body) if type(node).__name__ == "SBlock"]
    if not blocks:
        return mod
    schedule = Schedule(mod)
    for statement in blocks:
        kinds = [int(axis.iter_type) for axis in statement.iter_vars]
        spatial, summed = kinds.count(SPATIAL), kinds.count(REDUCTION)
        if not spatial or not summed or kinds != [SPATIAL] * spatial + [REDUCTION] * summed:
            continue
        if not _are_neighbours(statement, spatial - 1):
            continue
        with suppress(ScheduleError):  # of two blocks of one name, too
            block = schedule.get_sblock(statement.name_hint)
            loops = schedule.get_loops(block)
            if len(loops) == len(kinds):
                schedule.reorder(*loops[spatial:], loops[spatial - 1])
                schedule.decompose_reduction(block, loops[spatial])
    return schedule.mod


def _are_neighbours(block: Any, axis: int) -> bool:
    """Whether what a block accesses along an axis lies side by side in memory, or in one place."""
    variable = block.iter_vars[axis].var
    return not any(
        node.same_as(variable)
        for access in (*block.reads, *block.writes)
        for extent in access.region[:-1]
        for node in nodes(extent.min)
    )


def network_check(
    engine: Engine, case: NetworkCase, mod: IRModule, tasks: Sequence[Task]
) -> tuple[Check, float]:
    """Have a network's untuned program, a fused Relax module, say what it computes.

    One that was rewritten is held to what its model computes.

    Returns:
        What it computes, and the seconds of its first call.

    Raises:
        UntunedError: It does not run, or computes something else than its model.
        BadInputs: Its outputs say nothing on any inputs, or those given do not fit.
    """
    rounding = Rounding.of_network(tasks)
    program = Program.network(mod)
    if not isinstance(case, DrawnNetwork):
        arguments = case.arguments()
        found = engine.outputs(program, Check(arguments, ()))
        return check_of(arguments, found.given, rounding, drawn="the case's own"), found.call_s
    weights = case.weights()
    inputs = main_inputs(mod, len(weights))
    share, check, call_s = _computed(engine, program, case.draws(inputs), rounding, weights)
    if not share:
        names = ", ".join(repr(one.name) for one in inputs)
        cure = f"give {names}, e.g. inputs={{{inputs[0].name!r}: (0, 10)}} or an .npz file"
        if isinstance(case, KernelBenchNetwork):
            cure = "change its get_inputs, or leave the problem out"
        raise BadInputs(f"its outputs are the same for all inputs tried, or no numbers; {cure}")
    if isinstance(case, RewrittenNetwork) and case.original is not None:
        check = _by_original(engine, case.original, check, len(inputs), rounding)
    return check, call_s


def _by_original(
    engine: Engine, original: DrawnNetwork, check: Check, inputs: int, rounding: Rounding
) -> Check:
    """The check of a rewritten network with what its model computes of so many inputs."""
    assert check.fresh is not None
    weights = original.weights()
    given, fresh = ((*one.inputs[:inputs], *weights) for one in (check, check.fresh))
    found = engine.outputs(
        Program.network(original.program()), Check(given, (), fresh=Check(fresh, ()))
    )
    held = [
        check_of(rewritten.inputs, outputs, rounding, drawn=rewritten.drawn)
        for rewritten, outputs in ((check, found.given), (check.fresh, found.fresh))
    ]
    for rewritten, right in zip((check, check.fresh), held, strict=True):
        if wrong := mismatch([one.expected for one in rewritten.outputs], right):
            raise UntunedError(
                f"its rewrite computes something else than its model: {wrong}; expected a rewrite "
                "that computes the same, or none"
            )
    return replace(held[0], fresh=held[1])


def _computed(
    engine: Engine,
    program: Program,
    ways: Ways,
    rounding: Rounding,
    weights: tuple[NDArray[Any], ...] = (),
) -> tuple[float, Check, float]:
    """The share of numbers among the outputs, the check, the seconds of the shortest first call."""
    failures: list[CrashedError] = []
    calls_s: list[float] = []

    def compute(check: Check) -> Outputs | None:
        try:
            found = engine.outputs(program, check)
        except CrashedError as crash:
            failures.append(crash)
            return None
        calls_s.append(found.call_s)
        return found.given, found.fresh

    best = best_check(ways, compute, rounding, weights)
    if best is None:
        raise failures[0]
    return (*best, min(calls_s))
