"""Looks at how fast a machine's cores exchange data, with any engine.

The cores of a virtual machine may share a cache at one moment and none at the next, because its
host moves them. Nothing within tells, but the time that it takes one core to read what another has
written.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.cores import threads_of
from pytest_ansorbench.measure.engine import Engine
from pytest_ansorbench.measure.policy import FixedMeasurement
from pytest_ansorbench.measure.program import Program

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.te import Tensor

_PIECE_BYTES: Final = 128 * 1024
"""Of each core and step: all steps together fit into a core's second cache."""
_STEPS: Final = 4
_BRIEF: Final = FixedMeasurement(min_repeat_ms=20)


def observe_exchange(engine: Engine) -> float | None:
    """Bytes per second that each core reads of what another one has just written.

    None on a GPU, with a single thread, and if the engine's limits do not let it be measured.
    """
    if engine.target.kind.name != "llvm" or (cores := threads_of(engine.target)) < 2:
        return None
    [built] = engine.build([Program.operator(exchange(cores))], None)
    measured = engine.run(built, _BRIEF)
    if measured.status != "ok":
        return None
    return (_STEPS - 1) * _PIECE_BYTES / median(measured.latencies_s)


def exchange(cores: int) -> IRModule:
    """A piece of data for each core, and steps in which each core adds 1 to its neighbour's piece.

    Float32 of shape (cores, numbers of a piece). Its first step reads the input, each later one
    what the step before has written.
    """
    from tvm import te
    from tvm.s_tir import Schedule

    def added(pieces: Tensor, step: int) -> Tensor:
        return te.compute(
            shape, lambda core, i: pieces[(core + 1) % cores, i] + 1.0, name=f"step_{step}"
        )

    shape = (cores, _PIECE_BYTES // 4)
    steps = [te.placeholder(shape, name="pieces")]
    for step in range(_STEPS):
        steps.append(added(steps[-1], step))
    schedule = Schedule(te.create_prim_func([steps[0], steps[-1]]))
    for step in range(_STEPS):
        core, i = schedule.get_loops(schedule.get_sblock(f"step_{step}"))
        _, lanes = schedule.split(i, [None, 16])
        schedule.parallel(core)
        schedule.vectorize(lanes)
    return schedule.mod
