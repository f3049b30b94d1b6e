"""Runs a Relax program as it is, untuned."""

from __future__ import annotations

from pytest_ansorbench.measure.local.lowering import compile_program


def infer(program, arguments):
    """Compile a fused Relax module without any schedule, and call its `main`.

    LLVM optimizes nothing: a call of what it makes takes longer, and making it far less.

    Args:
        program: The module.
        arguments: NumPy arrays.

    Returns:
        The output as a NumPy array.
    """
    import tvm

    machine = compile_program(program, tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    return machine["main"](*map(tvm.runtime.tensor, arguments)).numpy()
