"""What a program computes before it is tuned: the reference where there is no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.measure.engine import CrashedError
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.workloads.case import Check, DrawnNetwork, NetworkCase, Task
from pytest_ansorbench.workloads.checking import best_check, check_of
from pytest_ansorbench.workloads.dataflow import rounding_error, task_inputs
from pytest_ansorbench.workloads.inputs import BadInputs, Ways, draws
from pytest_ansorbench.workloads.networks.main_inputs import main_inputs

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
    program, error = Program.operator(task.mod), rounding_error(task.mod)
    return _computed(engine, program, ways, error)[1]


def network_check(
    engine: Engine, case: NetworkCase, mod: IRModule, tasks: Sequence[Task]
) -> tuple[Check, float]:
    """Have a network's untuned program, a fused Relax module, say what it computes.

    Returns:
        What it computes, and the seconds of its first call.

    Raises:
        UntunedError: It does not run.
        BadInputs: Its outputs say nothing on any inputs, or those given do not fit.
    """
    # Rounding errors of its layers add up.
    error = sum(task.weight * rounding_error(task.mod) for task in tasks)
    program = Program.network(mod)
    if not isinstance(case, DrawnNetwork):
        arguments = case.arguments()
        found = engine.outputs(program, Check(arguments, ()))
        return check_of(arguments, found.given, error, drawn="the case's own"), found.call_s
    weights = case.weights()
    inputs = main_inputs(mod, len(weights))
    share, check, call_s = _computed(engine, program, case.draws(inputs), error, weights)
    if not share:
        names = ", ".join(repr(one.name) for one in inputs)
        raise BadInputs(
            f"its outputs are the same for all inputs tried, or no numbers; give {names}, e.g. "
            f"inputs={{{inputs[0].name!r}: (0, 10)}} or an .npz file"
        )
    return check, call_s


def _computed(
    engine: Engine,
    program: Program,
    ways: Ways,
    error: float,
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

    best = best_check(ways, compute, error, weights)
    if best is None:
        raise failures[0]
    return (*best, min(calls_s))
