"""What an engine compiles: a kernel, a whole network, or a kernel that was saved as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_ansorbench.measure.arguments import Shapes, shapes_of

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    from pytest_ansorbench.workloads.case import Check, Surroundings


@dataclass(frozen=True, eq=False)
class Program:
    """Something to compile and call. Use `kernel`, `operator` or `network` to make one.

    Attributes:
        mod: The module.
        kind: How it is compiled and called.
        shapes: Data type and shape of each argument of a kernel, the inputs first, then the
            output; empty for a network, which is called with the inputs of its check.
        functions: Number of functions to compile, at least 1. Time limits are for one of them.
        surroundings: The network around a kernel, where there is one and it is known.
    """

    mod: IRModule
    kind: Literal["kernel", "network"]
    shapes: Shapes
    functions: int
    surroundings: Surroundings | None = None

    @classmethod
    def kernel(
        cls,
        mod: IRModule,
        args_info: Sequence[ArgInfo],
        surroundings: Surroundings | None = None,
    ) -> Program:
        """A TensorIR module with one function `main`.

        Args:
            mod: The module, scheduled or not.
            args_info: Its arguments as TVM describes them, inputs then output.
            surroundings: Those of its task.
        """
        return cls(mod, "kernel", shapes_of(args_info), 1, surroundings)

    @classmethod
    def operator(cls, mod: IRModule) -> Program:
        """A kernel that is no candidate of a search, whose module tells its arguments."""
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo

        return cls.kernel(mod, ArgInfo.from_entry_func(mod, remove_preproc=True))

    @classmethod
    def network(cls, mod: IRModule) -> Program:
        """A fused Relax module with a function `main`, whose functions may be scheduled."""
        return cls(mod, "network", (), len(mod.get_global_vars()))

    def serialized(self) -> bytes:
        """The module as TVM's JSON. Takes milliseconds."""
        from tvm.ir import save_json

        text: str = save_json(self.mod)
        return text.encode()


@dataclass(frozen=True, eq=False)
class SavedKernel:
    """A kernel as a result keeps it: whoever compiles it applies the schedule to the program.

    Versions of TVM write programs in different ways, and schedules in one. A version that cannot
    read the program takes that of the shipped case, as its own TVM builds it.

    Attributes:
        program: The program before it is scheduled, packed.
        schedule: Its schedule, packed.
        case: Id of the case that it is of; empty if there is none.
        place: The task's place in the case, from 0.
        surroundings: The network around it, where there is one and it is known.
        toolchain: Name of the toolchain that is to build it, where there are several; empty for
            the engine's own.
    """

    program: str
    schedule: str
    case: str = ""
    place: int = 0
    surroundings: Surroundings | None = None
    toolchain: str = ""
    kind: Literal["saved"] = "saved"
    shapes: Shapes = ()
    functions: int = 1

    def serialized(self) -> bytes:
        """All of it as JSON."""
        parts = {name: getattr(self, name) for name in ("program", "schedule", "case", "place")}
        return json.dumps(parts).encode()


@dataclass(frozen=True)
class KernelJob:
    """One kernel for several toolchains to build.

    Attributes:
        kernels: One a toolchain, all of one task.
        check: Inputs and expected output; None if they are not known.
    """

    kernels: tuple[SavedKernel, ...]
    check: Check | None


Buildable = Program | SavedKernel
"""Anything that a worker process can be given to compile."""
