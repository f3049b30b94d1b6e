"""What a program computes before it is tuned: the reference where there is no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.measure.arguments import Shapes
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.workloads.case import Check, NetworkCase, Task
from pytest_ansorbench.workloads.tolerance import tolerance, typical_size

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule

    from pytest_ansorbench.measure.engine import Engine

_NETWORK_TOLERANCE: Final = 1e-3
"""Relative to the output's typical size. Rounding errors of dozens of layers add up, and come
to a tenth of that; a layer that computes something else is far outside."""


def task_check(engine: Engine, task: Task) -> Check | None:
    """Have a task's untuned program say what it computes on random inputs.

    Inputs are from [-1, 1), or from [0, 1) where negative ones lead to roots or logarithms that
    are no numbers. None if the outputs are not finite either way.
    """
    program = Program.operator(task.mod)
    for low in (-1.0, 0.0):
        inputs = _draw(program.shapes[:-1], low)
        asked = Check(inputs, np.empty(0, np.float32), 0.0, 0.0)
        expected = engine.output(program, asked)
        if np.isfinite(expected).all():
            length = max(1, task.flops // (2 * max(1, expected.size)))
            return Check(inputs, expected, *tolerance(expected, length))
    return None


def network_check(engine: Engine, case: NetworkCase, mod: IRModule) -> Check:
    """Have a network's untuned program, a fused Relax module, say what it computes."""
    arguments = case.arguments()
    asked = Check(arguments, np.empty(0, np.float32), 0.0, 0.0)
    expected = engine.output(Program.network(mod), asked)
    absolute = _NETWORK_TOLERANCE * typical_size(expected)
    return Check(arguments, expected, _NETWORK_TOLERANCE, absolute)


def _draw(shapes: Shapes, low: float) -> tuple[NDArray[Any], ...]:
    """Random inputs from [low, 1), the same every time; whole numbers are 0, which is an index."""
    rng = np.random.default_rng(0)
    return tuple(rng.uniform(low, 1.0, shape).astype(dtype) for dtype, shape in shapes)
