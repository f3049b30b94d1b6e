"""What a child has compiled, and how it is called: a kernel, or a whole network."""

from __future__ import annotations

import json
import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Protocol

from pytest_ansorbench.measure.arguments import (
    Arguments,
    Shapes,
    aligned,
    in_own_memory,
    shapes_of,
)
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.caches import Predecessors
from pytest_ansorbench.packed import PackedError, tensorizes, unpack_program, unpack_schedule
from pytest_ansorbench.workloads import CASES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.runtime import Module
    from tvm.runtime.vm import VirtualMachine
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check, Surroundings

KERNEL_ENTRY: Final = "main"
"""The function of a kernel's module."""
_NETWORK_ENTRY: Final = "with_arguments"
"""A network's `main`, bound to its arguments."""


class Compiled(Protocol):
    """Something compiled, which can be called once it has its arguments."""

    def take(
        self, shapes: Shapes, check: Check | None, surroundings: Surroundings | None = None
    ) -> None:
        """Make its arguments.

        Args:
            shapes: Data type and shape of each, the inputs first, then the output.
            check: Its inputs are used as they are; without, inputs are random.
            surroundings: The network that timed calls are to be as in; None for none.
        """
        ...

    def call(self) -> float:
        """Call it once; seconds that took."""
        ...

    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        """Call it once uncounted, then time `samples` times `calls` calls; seconds a call.

        With surroundings, each call is timed alone, after what precedes it there.
        """
        ...

    def output(self) -> NDArray[Any]:
        """What its last call wrote."""
        ...

    def damage(self) -> str:
        """What it wrote where it should not: one sentence, empty if nothing."""
        ...

    def code_bytes(self) -> int | None:
        """Bytes of its object file; None if it has none."""
        ...


class CompiledKernel:
    """A kernel, which is given its output to write to."""

    def __init__(self, mod: IRModule, target: Target, shapes: Shapes = ()) -> None:
        """Compile a scheduled TensorIR module.

        Args:
            mod: The module.
            target: What to compile for.
            shapes: Data type and shape of each argument, if whoever asks does not know them.
        """
        self._module = compile_module(mod, target)
        self._shapes = shapes
        self._arguments: Arguments | None = None
        self._predecessors: Predecessors | None = None

    @classmethod
    def of_module(cls, payload: bytes, target: Target) -> CompiledKernel:
        """Compile a module that is given as TVM's JSON."""
        import tvm

        return cls(tvm.ir.load_json(payload.decode()), target)

    @classmethod
    def of_saved(cls, payload: bytes, target: Target) -> CompiledKernel:
        """Apply a schedule to its program, both given as `SavedKernel` writes them, and compile.

        Raises:
            PackedError: The schedule does not apply, or this TVM cannot read one of the two.
        """
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo

        saved = json.loads(payload)
        program = _program(saved["program"], saved["case"], saved["place"])
        shapes = shapes_of(ArgInfo.from_entry_func(program, remove_preproc=True))
        if tensorizes(saved["schedule"]):
            register_intrinsics(target)
        return cls(unpack_schedule(saved["schedule"], program).mod, target, shapes)

    def take(
        self, shapes: Shapes, check: Check | None, surroundings: Surroundings | None = None
    ) -> None:
        """See `Compiled`; the output lies between guards.

        Inputs are those that the process was forked with, at the same places in memory for all
        children of one server. A kernel that was saved may be compared with another server's, and
        where its arrays lie is worth percents: it gets new pages in every process.
        """
        if self._shapes and check is not None:
            check = replace(check, inputs=tuple(map(in_own_memory, check.inputs)))
        self._arguments = Arguments(shapes or self._shapes, check)
        if surroundings is not None:
            self._predecessors = Predecessors(self._arguments.arrays, surroundings)

    def call(self) -> float:
        """See `Compiled`."""
        return first_run(self._module, KERNEL_ENTRY, self._ready().arrays)

    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        """See `Compiled`."""
        arrays = self._ready().arrays
        if self._predecessors is None:
            return evaluate(
                self._module, KERNEL_ENTRY, arrays, calls, samples, flush_bytes=flush_bytes
            )
        before = self._predecessors.registered()
        seconds = evaluate(
            self._module, KERNEL_ENTRY, arrays, 1, calls * samples, flush_bytes=0, before=before
        )
        return [fmean(seconds[i : i + calls]) for i in range(0, len(seconds), calls)]

    def output(self) -> NDArray[Any]:
        """See `Compiled`."""
        return self._ready().output

    def damage(self) -> str:
        """See `Compiled`."""
        return self._ready().damage()

    def code_bytes(self) -> int | None:
        """See `Compiled`."""
        return object_bytes(self._module)

    def _ready(self) -> Arguments:
        assert self._arguments is not None
        return self._arguments


class CompiledNetwork:
    """A Relax program on a virtual machine of its own, which allocates its output itself."""

    def __init__(self, program: IRModule, target: Target) -> None:
        """Compile a fused Relax module, whose functions may have been scheduled."""
        self._machine = compile_program(program, target)

    @classmethod
    def of_module(cls, payload: bytes, target: Target) -> CompiledNetwork:
        """Compile a module that is given as TVM's JSON."""
        import tvm

        return cls(tvm.ir.load_json(payload.decode()), target)

    def take(
        self, shapes: Shapes, check: Check | None, surroundings: Surroundings | None = None
    ) -> None:
        """See `Compiled`; the arguments are the inputs of the check, and nothing is around."""
        from tvm.runtime import from_dlpack

        assert check is not None
        self._tensors = [from_dlpack(aligned(array)) for array in check.inputs]
        self._machine.save_function("main", _NETWORK_ENTRY, *self._tensors)

    def call(self) -> float:
        """See `Compiled`."""
        return first_run(self._machine.module, _NETWORK_ENTRY, ())

    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        """See `Compiled`."""
        return evaluate(
            self._machine.module, _NETWORK_ENTRY, (), calls, samples, flush_bytes=flush_bytes
        )

    def output(self) -> NDArray[Any]:
        """See `Compiled`; it is called for that once more."""
        array: NDArray[Any] = self._machine.module[_NETWORK_ENTRY]().numpy()
        return array

    def damage(self) -> str:
        """Nothing is known: all memory is the machine's own."""
        return ""

    def code_bytes(self) -> int | None:
        """Nothing is known: an executable is more than its kernels."""
        return None


def _program(text: str, case: str, place: int) -> IRModule:
    """A saved program, or if this TVM cannot read it that of the shipped case.

    Raises:
        PackedError: It cannot be read, and there is no such case.
    """
    try:
        return unpack_program(text)
    except PackedError as error:
        known = {one.id: one for one in CASES}
        if case not in known:
            raise PackedError(f"{error}; no shipped case {case!r} has it instead") from None
        return known[case].tasks()[place].mod


def compile_module(mod: IRModule, target: Target) -> Module:
    """Compile a module in memory, all the way to machine code."""
    kernel = _lowered(mod, target)
    # Machine code is made when a function is first looked up.
    kernel[KERNEL_ENTRY]
    return kernel


def object_file(payload: bytes, target: Target) -> bytes:
    """Compile a module that is given as TVM's JSON to an object file, for whatever target."""
    import tvm

    kernel = _lowered(tvm.ir.load_json(payload.decode()), target)
    with _written(kernel) as path:
        return path.read_bytes()


def _lowered(mod: IRModule, target: Target) -> Module:
    """Do what MetaSchedule's `default_build` does, less the import of all tensor intrinsics.

    A tensorized schedule carries the intrinsic's body already.
    """
    from tvm.driver import build
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    return build(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod), target=target)


@contextmanager
def _written(module: Module) -> Iterator[Path]:
    """A compiled module's object file, for as long as it is looked at."""
    with tempfile.TemporaryDirectory(prefix="ansor-bench-") as folder:
        path = Path(folder) / "kernel.o"
        module.write_to_file(str(path), "o")
        yield path


def object_bytes(module: Module) -> int:
    """Size of a compiled module's object file: code, constants and relocations."""
    with _written(module) as path:
        return path.stat().st_size


def compile_program(program: IRModule, target: Target) -> VirtualMachine:
    """Compile a network in memory.

    Does what `relax_integration.compile_relax` does once tuned functions are in their place.

    Args:
        program: A fused Relax module.
        target: What to compile for.
    """
    import tvm
    from tvm import relax
    from tvm.relax.backend.cpu_generic.pipeline import dataflow_lower_passes, finalize_passes

    passes = [*dataflow_lower_passes(target), *finalize_passes(target)]
    with target, tvm.transform.PassContext(opt_level=3):
        executable = relax.build(
            program, target=target, relax_pipeline=tvm.transform.Sequential(passes)
        )
    return relax.VirtualMachine(executable, tvm.cpu())


def first_run(module: Module, entry: str, arrays: Sequence[NDArray[np.generic]]) -> float:
    """Call a function once; seconds it took."""
    from tvm.runtime import from_dlpack

    function, tensors = module[entry], [from_dlpack(array) for array in arrays]
    started = time.perf_counter()
    function(*tensors)
    return time.perf_counter() - started


def evaluate(
    module: Module,
    entry: str,
    arrays: Sequence[NDArray[np.generic]],
    number: int,
    repeat: int,
    *,
    flush_bytes: int,
    before: str = "",
) -> list[float]:
    """TVM's time evaluator: one call, then `repeat` times the mean of `number` calls.

    The Python around it (`Module.time_evaluator`) is left out, since it also computes a
    summary with NumPy, which takes longer than many a kernel.

    Args:
        module: Has the function.
        entry: Its name.
        arrays: Its arguments.
        number: Calls a sample.
        repeat: Samples.
        flush_bytes: Bytes to copy before each sample.
        before: Name of the global function of TVM's that runs before each sample; empty for none.
    """
    import tvm
    from tvm.runtime import from_dlpack

    tensors = [from_dlpack(array) for array in arrays]
    return evaluate_tensors(
        module,
        entry,
        tensors,
        number,
        repeat,
        device=tvm.cpu(),
        flush_bytes=flush_bytes,
        before=before,
    )


def evaluate_tensors(
    module: Module,
    entry: str,
    tensors: Sequence[Any],
    number: int,
    repeat: int,
    *,
    device: Any,
    flush_bytes: int,
    before: str = "",
) -> list[float]:
    """`evaluate`, of tensors on a device, with a module that may be on another machine."""
    import tvm

    evaluator = tvm.get_global_func("runtime.RPCTimeEvaluator")(
        module, entry, int(device.dlpack_device_type()), device.index,
        number, repeat, 0, 1, 0, 1, flush_bytes, before,
    )  # fmt: skip
    blob = evaluator(*tensors)
    return list(struct.unpack(f"@{repeat}d", blob))
