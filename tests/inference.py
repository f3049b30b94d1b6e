"""Runs a Relax program as it is, untuned."""

from __future__ import annotations

from pytest_ansorbench.measure.local.lowering import network_executable


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
    from tvm import relax

    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    machine = relax.VirtualMachine(network_executable(program, target), tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, arguments)).numpy()
