"""Programs compiled, to machine code in memory or to object files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.measure.local.prefetching import prefetches
from pytest_ansorbench.workloads.networks.relax_names import NUM_INPUT, with_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.ir.transform import Pass
    from tvm.runtime import Executable, Module
    from tvm.target import Target

KERNEL_ENTRY: Final = "main"
"""The function of a kernel's module."""
_CHECKS: Final = ("vm.builtin.check_tensor_info", "vm.builtin.match_shape")
"""What a virtual machine calls for each argument of `main`."""


def compile_module(mod: IRModule, target: Target) -> Module:
    """Compile a module in memory, all the way to machine code."""
    kernel = lowered(mod, target)
    # Machine code is made when a function is first looked up.
    kernel[KERNEL_ENTRY]
    return kernel


def object_files(compiled: Module | Executable) -> list[NDArray[np.uint8]]:
    """The bytes of the object files that a linker makes a shared library of, for any target."""
    files: list[NDArray[np.uint8]] = []

    def take(library: str, paths: Sequence[str], **options: Any) -> None:
        files.extend(np.fromfile(path, np.uint8) for path in paths)

    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        compiled.export_library("library.so", fcompile=take, workspace_dir=folder)
    return files


def lowered(mod: IRModule, target: Target) -> Module:
    """What MetaSchedule's `default_build` does, less the import of all tensor intrinsics."""
    from tvm.driver import build
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    mod = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod)
    if target.kind.name != "cuda":
        return build(prefetches()(mod), target=target)
    with target:  # which is where TVM's call of the compiler finds the architecture
        if not _has_threads(mod):
            mod = _untuned_on_gpu()(mod)
        return build(mod, target=target)


def _has_threads(mod: IRModule) -> bool:
    """Whether a GPU's threads run it; an untuned program has none."""
    return any(_binds(function.body) for function in mod.functions.values())


def _binds(statement: Any) -> bool:
    """Whether there is a loop in a statement whose steps are threads. TVM has no visitor here."""
    if getattr(statement, "thread_binding", None) is not None:
        return True
    names = ("body", "block", "then_case", "else_case")
    parts = [*(getattr(statement, name, None) for name in names), *getattr(statement, "seq", ())]
    return any(_binds(part) for part in parts if part is not None)


def network_executable(program: IRModule, target: Target) -> Executable:
    """Compile a network to what a virtual machine is made of, or a library written.

    As `compile_relax` does once tuned functions are in place. For CUDA its kernels are launched one
    by one; no CUDA graph is made.
    """
    import tvm
    from tvm import relax

    if target.kind.name == "cuda":
        from tvm.relax.backend.cuda import pipeline

        passes = [_untuned_on_gpu()]
    else:
        from tvm.relax.backend.cpu_generic import pipeline

        passes = [prefetches()]
    passes += [*pipeline.dataflow_lower_passes(target), *pipeline.finalize_passes(target)]
    passes.append(_trusted_weights())
    with target, tvm.transform.PassContext(opt_level=3):
        return relax.build(program, target=target, relax_pipeline=tvm.transform.Sequential(passes))


def _trusted_weights() -> Pass:
    """Leaves out what checks types and shapes of weights at each inference: kernels check them."""
    import tvm
    from tvm import IRModule, relax

    def trusting(mod: IRModule, _: object) -> IRModule:
        main = mod["main"]
        if NUM_INPUT not in main.attrs.keys():  # noqa: SIM118
            return mod
        weights = main.params[int(main.attrs[NUM_INPUT]) :]

        def stays(binding: Any) -> bool:
            called = getattr(getattr(binding.value, "op", None), "global_symbol", None)
            if called not in _CHECKS:
                return True
            return not any(binding.value.args[0].same_as(weight) for weight in weights)

        blocks = [
            relax.BindingBlock([binding for binding in block.bindings if stays(binding)])
            for block in main.body.blocks
        ]
        functions = dict(mod.functions_items())
        functions[mod.get_global_var("main")] = with_parameters(
            main, main.params, relax.SeqExpr(blocks, main.body.body)
        )
        return IRModule(functions, attrs=mod.attrs)

    return tvm.transform.module_pass(trusting, opt_level=0)


def _untuned_on_gpu() -> Pass:
    """Gives a GPU's threads to functions that no search has scheduled.

    TVM's pass `DefaultGPUSchedule` takes functions of one block only.
    """
    from tvm.s_tir import dlight

    return dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())
