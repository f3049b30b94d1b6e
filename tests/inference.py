"""Runs a Relax program as it is, untuned."""

from __future__ import annotations


def infer(program, arguments):
    """Compile a fused Relax module without any schedule, and call its `main`.

    Args:
        program: The module.
        arguments: NumPy arrays.

    Returns:
        The output as a NumPy array.
    """
    import tvm
    from tvm import relax
    from tvm.relax.backend.cpu_generic.pipeline import dataflow_lower_passes, finalize_passes

    target = tvm.target.Target("llvm")
    passes = [*dataflow_lower_passes(target), *finalize_passes(target)]
    with target, tvm.transform.PassContext(opt_level=3):
        executable = relax.build(
            program, target=target, relax_pipeline=tvm.transform.Sequential(passes)
        )
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return machine["main"](*map(tvm.runtime.tensor, arguments)).numpy()
