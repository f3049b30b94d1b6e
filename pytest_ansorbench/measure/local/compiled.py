"""What a child has compiled, and how it is called: a kernel, or a whole network."""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.measure.arguments import (
    Arguments,
    OwnInputs,
    Shapes,
    aligned,
    bytes_of,
    in_own_memory,
    shapes_of,
)
from pytest_ansorbench.measure.local.caches import Predecessors
from pytest_ansorbench.measure.local.interpreter import anonymous_file
from pytest_ansorbench.measure.local.lowering import (
    KERNEL_ENTRY,
    compile_module,
    network_executable,
)
from pytest_ansorbench.measure.local.places import Device, Place
from pytest_ansorbench.measure.verification import LATE, LATE_S, Called
from pytest_ansorbench.packed import PackedError, unpack_program, unpack_schedule
from pytest_ansorbench.travel import unpacked
from pytest_ansorbench.workloads.case import Case, Task
from pytest_ansorbench.workloads.networks.apply import with_schedules

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.runtime import Module
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check, Surroundings

_NETWORK_ENTRY: Final = "with_arguments"
"""A network's `main`, bound to its arguments."""


class Compiled(Called):
    """A program in this process."""

    _timing = (0, 0, 0)

    @abstractmethod
    def take(
        self, shapes: Shapes, check: Check | None, surroundings: Surroundings | None = None
    ) -> None:
        """Make its arguments: the check's inputs, or random ones of the shapes, and an output."""

    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        seconds = self._time(calls, samples, flush_bytes)
        self.timed_s, self._timing = median(seconds), (calls, samples, flush_bytes)
        return seconds

    def time_again(self) -> float:
        return median(self._time(*self._timing))

    @abstractmethod
    def _time(self, calls: int, samples: int, flush_bytes: int) -> list[float]: ...

    def code_bytes(self) -> int | None:
        """Bytes of its object file; None if it has none."""
        return None


class PlacedKernel:
    """A kernel that is given its output to write to, and its arguments on a device."""

    def __init__(self, module: Module, device: Device) -> None:
        self._module = module
        self._device = device

    def place(self, shapes: Shapes, check: Check | None) -> None:
        """Put arguments on the device: a check's inputs or random ones, outputs with no result."""
        self._check = check
        self._arguments = Arguments(shapes, check)
        given, written = self._arguments.inputs, self._arguments.outputs
        inputs = self._device.place(given, [*map(bytes_of, given)])
        self._outputs = self._device.place(written, self._arguments.output_memories)
        self._tensors = (*inputs.tensors, *self._outputs.tensors)
        self._own: tuple[OwnInputs, Place] | None = None

    def call(self) -> float:
        return first_run(self._module, KERNEL_ENTRY, self._tensors, self._device)

    def timed(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        """Seconds a call of some samples, after one call that does not count."""
        return evaluate(
            self._module,
            KERNEL_ENTRY,
            self._tensors,
            calls,
            samples,
            device=self._device.tvm,
            flush_bytes=flush_bytes,
        )

    def outputs(self) -> Sequence[NDArray[Any]]:
        self._outputs.fetch()
        return self._arguments.outputs

    def damage(self) -> str:
        self._outputs.fetch()
        if (wrong := self._arguments.damage()) or self._own is None:
            return wrong
        own, place = self._own
        place.fetch()
        return own.damage()

    def call_again(self) -> None:
        assert self._check is not None
        self._arguments.clear(self._check)
        self._outputs.send()
        self.call()

    def call_on(self, check: Check) -> float:
        if self._own is None:
            own = OwnInputs(check.inputs)
            self._own = own, self._device.place(own.arrays, own.memories)
        own, inputs = self._own
        own.hold(check.inputs)
        self._arguments.clear(check)
        for place in (inputs, self._outputs):
            place.send()
        tensors = (*inputs.tensors, *self._outputs.tensors)
        return first_run(self._module, KERNEL_ENTRY, tensors, self._device)

    def late(self) -> str:
        self._arguments.blank()
        self._outputs.send()
        time.sleep(LATE_S)
        self._outputs.fetch()
        return "" if self._arguments.is_blank() else LATE


class CompiledKernel(PlacedKernel, Compiled):
    """A scheduled TensorIR module, which is given its output to write to."""

    def __init__(
        self,
        mod: IRModule,
        target: Target,
        device: Device = Device(),  # noqa: B008 - has no state
        shapes: Shapes = (),
    ) -> None:
        super().__init__(compile_module(mod, target), device)
        self._shapes = shapes  # of a saved kernel, whose caller does not know them
        self._is_loaded = device.tvm is None  # a device's driver loads a module when it is called
        self._predecessors: Predecessors | None = None

    @classmethod
    def of_saved(cls, payload: bytes, target: Target, device: Device) -> CompiledKernel:
        """Apply a schedule to its program, both given as `SavedKernel` writes them, and compile."""
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo

        saved = json.loads(payload)
        program = _program(saved)
        shapes = shapes_of(ArgInfo.from_entry_func(program, remove_preproc=True))
        return cls(unpack_schedule(saved["schedule"], program).mod, target, device, shapes)

    def take(
        self, shapes: Shapes, check: Check | None, surroundings: Surroundings | None = None
    ) -> None:
        """Make its arguments; the output lies between guards.

        Inputs are those that the process was forked with, at the same places in memory for all
        children of one server. A kernel that was saved may be compared with another server's, and
        where its arrays lie is worth percents: it gets new pages in every process.
        """
        if not shapes and check is not None:
            check = replace(check, inputs=tuple(map(in_own_memory, check.inputs)))
        self._shapes = shapes or self._shapes
        self.place(self._shapes, check)
        if surroundings is not None:
            self._predecessors = Predecessors(self._arguments.inputs, surroundings)

    def call(self) -> float:
        if not self._is_loaded:
            super().call()
            self._is_loaded = True
        return super().call()

    def _time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        if self._predecessors is None:
            return self.timed(calls, samples, flush_bytes)
        before = self._predecessors.registered()
        seconds = evaluate(
            self._module, KERNEL_ENTRY, self._tensors, 1, calls * samples, before=before
        )
        return [fmean(seconds[i : i + calls]) for i in range(0, len(seconds), calls)]

    def code_bytes(self) -> int | None:
        if self._device.tvm is not None:
            return None  # the object file is of what launches it
        with anonymous_file() as file:  # LLVM ends a process that finds a disk full
            self._module.write_to_file(f"/dev/fd/{file.fileno()}", "o")
            return os.fstat(file.fileno()).st_size  # code, constants, relocations


class CompiledNetwork(Compiled):
    """A fused Relax module on a virtual machine of its own, which allocates its output itself.

    Its inputs, weights too, are put on the device once.
    """

    def __init__(
        self,
        program: IRModule,
        target: Target,
        device: Device = Device(),  # noqa: B008 - has no state
    ) -> None:
        self._executable = network_executable(program, target)
        self._device = device
        if device.tvm is None:
            self._load()

    @classmethod
    def of_saved(cls, payload: bytes, target: Target, device: Device) -> CompiledNetwork:
        """Apply schedules to the tasks of a network, as `SavedNetwork` writes them, and compile."""
        saved = json.loads(payload)
        tasks, scheduled = [], []
        for program, schedule in saved["kernels"]:
            tasks.append(Task("", unpack_program(program), 1))
            scheduled.append(unpack_schedule(schedule, tasks[-1].mod).mod)
        program = with_schedules(unpack_program(saved["program"]), tasks, scheduled)
        return cls(program, target, device)

    def _load(self) -> None:
        """Make machine code and a virtual machine, which has a device in use from now on."""
        import tvm
        from tvm import relax

        where = tvm.cpu() if self._device.tvm is None else self._device.tvm
        self._machine = relax.VirtualMachine(self._executable, where)

    def take(
        self, shapes: Shapes, check: Check | None, surroundings: Surroundings | None = None
    ) -> None:
        """Take the inputs of the check; nothing is around a network."""
        assert check is not None
        self._is_loaded = self._device.tvm is None  # a driver loads a module when it is called
        if not self._is_loaded:
            self._load()
        arrays = [*map(aligned, check.inputs)]
        self._tensors = self._device.place(arrays, [*map(bytes_of, arrays)]).tensors
        self._machine.save_function("main", _NETWORK_ENTRY, *self._tensors)
        self._returned: Any = None
        others = check.inputs if check.fresh is None else check.fresh.inputs
        self._varying = [
            place
            for place, (one, other) in enumerate(zip(check.inputs, others, strict=True))
            if one is not other
        ]
        self._own = OwnInputs([check.inputs[place] for place in self._varying])
        self._own_place = self._device.place(self._own.arrays, self._own.memories)

    def call(self) -> float:
        if not self._is_loaded:
            self._is_loaded = True
            self.call()
        return self._called(self._machine.module[_NETWORK_ENTRY])

    def outputs(self) -> Sequence[NDArray[Any]]:
        """What it computes; it is called for that once more if calls were timed since."""
        if self._returned is None:
            self.call_again()
        return tuple(arrays_in(self._returned))

    def damage(self) -> str:
        """What it wrote to those inputs that are not weights, or beside them."""
        self._own_place.fetch()
        return self._own.damage()

    def call_again(self) -> None:
        self.call()

    def call_on(self, check: Check) -> float:
        self._own.hold([check.inputs[place] for place in self._varying])
        self._own_place.send()
        tensors = [*self._tensors]
        for place, own in zip(self._varying, self._own_place.tensors, strict=True):
            tensors[place] = own
        return self._called(self._machine["main"], *tensors)

    def _called(self, function: Callable[..., Any], *tensors: Any) -> float:
        """Keep what a function returns; seconds until it was done."""
        self._device.sync()
        started_s = time.perf_counter()
        self._returned = function(*tensors)
        self._device.sync()
        return time.perf_counter() - started_s

    def _time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        self._returned = None
        return evaluate(
            self._machine.module,
            _NETWORK_ENTRY,
            (),
            calls,
            samples,
            device=self._device.tvm,
            flush_bytes=flush_bytes,
        )


def arrays_in(value: Any) -> Iterator[NDArray[Any]]:
    """The arrays of what a network returns: a tensor, a shape or a number, or a tuple of such."""
    if hasattr(value, "numpy"):
        yield value.numpy()
    elif isinstance(value, (bool, int, float)):
        yield np.asarray(value)
    elif value is not None:
        for part in value:
            yield from arrays_in(part)


def _program(saved: Mapping[str, Any]) -> IRModule:
    """A saved program, or if this TVM cannot read it the one that the case makes here."""
    try:
        return unpack_program(saved["program"])
    except PackedError as error:
        if saved["definition"] is None:
            raise PackedError(
                f"{error}; a shipped case would make it anew, or with pytest one whose class and "
                "functions are at the top of a module"
            ) from None
        # Last, so that TVM is this interpreter's own whatever the project has.
        sys.path += [path for path in saved["paths"] if path not in sys.path]
        case: Case = unpacked(saved["definition"])
        return case.tasks()[saved["place"]].mod


def first_run(
    module: Module,
    entry: str,
    tensors: Sequence[Any],
    device: Device = Device(),  # noqa: B008 - has no state
) -> float:
    """Call a function once; seconds until it was done."""
    function = module[entry]
    device.sync()
    started_s = time.perf_counter()
    function(*tensors)
    device.sync()
    return time.perf_counter() - started_s


def evaluate(
    module: Module,
    entry: str,
    tensors: Sequence[Any],
    number: int,
    repeat: int,
    *,
    device: Any = None,
    flush_bytes: int = 0,
    before: str = "",
) -> list[float]:
    """TVM's time evaluator: one call, then `repeat` times the mean seconds of `number` calls.

    The Python around it (`Module.time_evaluator`) computes a summary with NumPy, which takes longer
    than many a kernel. Before each sample so many bytes are copied, on the device, or the global
    function of TVM's with the name `before` is called. TVM times CUDA by its events, around all
    calls of a sample.
    """
    import tvm

    where = tvm.cpu() if device is None else device
    evaluator = tvm.get_global_func("runtime.RPCTimeEvaluator")(
        module, entry, int(where.dlpack_device_type()), where.index,
        number, repeat, 0, 1, 0, 1, flush_bytes, before,
    )  # fmt: skip
    blob = evaluator(*tensors)
    return list(struct.unpack(f"@{repeat}d", blob))
