"""What an engine compiles: a kernel or a whole network, as TVM has it or saved as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_ansorbench.measure.arguments import Shapes, dump_check, shapes_of

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    from pytest_ansorbench.workloads.case import Check, Surroundings


@dataclass(frozen=True, eq=False)
class Program:
    """Something to compile and call. Use `kernel`, `operator` or `network` to make one."""

    mod: IRModule
    kind: Literal["kernel", "network"]
    shapes: Shapes  # empty for a network, which is called with the inputs of its check
    functions: int  # to compile, at least 1; time limits are for one of them
    surroundings: Surroundings | None = None  # the network around a kernel, where it is known
    toolchain: str = ""  # the engine's own

    @classmethod
    def kernel(
        cls,
        mod: IRModule,
        args_info: Sequence[ArgInfo],
        surroundings: Surroundings | None = None,
    ) -> Program:
        """A TensorIR module with one function `main`, scheduled or not."""
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
    """A kernel as a result keeps it; its schedule is applied to the program where it is compiled.

    A TVM that cannot read the program of another version has the case make its own.
    """

    program: str  # before it is scheduled, packed
    schedule: str  # packed
    definition: Mapping[str, Any] | None = None  # of the case that it is of, if there is one
    paths: Sequence[str] = ()  # folders of modules that the definition names
    place: int = 0  # of the task in the case
    surroundings: Surroundings | None = None
    toolchain: str = ""  # name of the one that is to build it; empty for the engine's own
    kind: Literal["saved"] = "saved"
    shapes: Shapes = ()
    functions: int = 1

    def serialized(self) -> bytes:
        names = ("program", "schedule", "definition", "paths", "place")
        return json.dumps({name: getattr(self, name) for name in names}).encode()


@dataclass(frozen=True, eq=False)
class SavedNetwork:
    """A network whose kernels are saved; their schedules are applied where it is compiled."""

    program: str  # a fused Relax module without schedules, packed
    kernels: tuple[SavedKernel, ...]  # of its tasks; those without one stay as they are
    toolchain: str  # name of the one that is to build it
    functions: int
    kind: Literal["saved-network"] = "saved-network"
    shapes: Shapes = ()
    surroundings: None = None

    def serialized(self) -> bytes:
        kernels = [(kernel.program, kernel.schedule) for kernel in self.kernels]
        return json.dumps({"program": self.program, "kernels": kernels}).encode()


@dataclass(frozen=True, eq=False)
class Foreign:
    """What another library computes: a module of Python's that answers as a worker does."""

    module: str  # is run, with the descriptor of its channel as first argument
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    check: Check  # its own, with arguments as the library takes them
    functions: int = 20  # some libraries try many kernels
    toolchain: str = ""
    kind: Literal["foreign"] = "foreign"
    shapes: Shapes = ()
    surroundings: None = None

    def serialized(self) -> bytes:
        return dump_check(self.check)


@dataclass(frozen=True)
class KernelJob:
    """One kernel for several toolchains to build."""

    kernels: tuple[SavedKernel, ...]  # one a toolchain, all of one task
    check: Check | None


Buildable = Program | SavedKernel | SavedNetwork | Foreign
"""Anything that a worker process can be given to compile."""
