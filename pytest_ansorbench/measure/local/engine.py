"""The engine that measures on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.cores import pinned_to, threads_of
from pytest_ansorbench.cuda import check_compiler, check_device
from pytest_ansorbench.environment import check_cores, check_toolchain, resolve_target
from pytest_ansorbench.measure.exchange_probe import observe_exchange
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.asking import ProgramFailure
from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ForkServer
from pytest_ansorbench.measure.local.forking_engine import ForkingEngine
from pytest_ansorbench.measure.local.gpu import check_gpu_caches, describe_gpu, observe_gpu
from pytest_ansorbench.measure.local.machine import describe_machine, observe_machine
from pytest_ansorbench.measure.local.side_by_side import BuildSet
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.program import Buildable
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.records import MachineState

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check


class LocalEngine(ForkingEngine):
    """Compiles and measures programs here, each in a process of its own; an `Engine`.

    To build, up to `build_workers` processes compile at a time, to machine code in their own
    memory, some 16 MB each. Then they wait, and `run` lets one at a time make its arguments, run,
    compare its output, and exit. A program that is kept is a process that sleeps; with cold caches
    none is kept. Side by side, waiting processes are suspended: otherwise TVM's threads would
    busy-wait beside the others' slices. Threads that sleep at once (`TVM_THREAD_POOL_SPIN_COUNT=0`)
    make small kernels slower: docs/results/noise.txt.

    Kernels for CUDA are compiled here likewise, and run on the first GPU that CUDA shows. A process
    begins to use it when it makes its arguments, and has a context of its own until it exits: what
    a kernel breaks is gone with that. Those that wait to be run have none.
    """

    device = ""
    """What kernels run on, by TVM's name; empty for the processes themselves."""

    def __init__(
        self,
        target: Target,
        settings: EngineSettings = EngineSettings(),  # noqa: B008 - frozen
        toolchain: Toolchain = Toolchain(),  # noqa: B008 - frozen
    ) -> None:
        """The target has the toolchain's attributes, and in `num-cores` the kernel threads."""
        self.toolchain = toolchain
        if target.kind.name == "cuda":
            self.device = "cuda"
        super().__init__(target, settings)

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        own = self.supervisor.server.machine if self.toolchain.python else describe_machine()
        gpu = {"gpu": describe_gpu()} if self.device == "cuda" else {}
        return {**own, **gpu, "target": str(self.target)}

    @property
    def server_pid(self) -> int:
        """Process id of the fork server, whose children the workers are."""
        return self.supervisor.server.pid

    def observe(self) -> MachineState:
        # Before the machine rests, when clocks still are what they were.
        gpu = observe_gpu(self.machine["gpu"]["name"]) if self.device == "cuda" else None
        # Emptied caches have nothing to exchange.
        exchanged = None if self.runner.is_cold else observe_exchange(self)
        return replace(observe_machine(), gpu=gpu, exchanged_bytes_s=exchanged)

    def code_bytes(self, built: Built) -> int | None:
        """Size of the object file of a program that waits to be run; None if it cannot be told."""
        if built.handle is None:
            return None
        try:
            built.handle.allow(self._settings.build_timeout_s)  # code is generated once more
            size: int = built.handle.code_bytes()
        except ProgramFailure:
            return None
        return size

    def _new_server(self) -> ForkServer:
        return ForkServer(
            threads=threads_of(self.target),
            memory_limit_mb=self._settings.memory_limit_mb,
            caches=self._settings.found_caches,
            device=self.device,
            cores=pinned_to(self._settings.cores, threads_of(self.target)),
            python=self.toolchain.python,
            writes_files=bool(self.device),
        )

    def _new_builder(self) -> Builder:
        return Builder(self.supervisor, self.target, self.toolchain.passes, self._settings)

    def _set_of(self, programs: Sequence[Buildable], check: Check | None) -> BuildSet:
        return lambda lineup: self.build([programs[number] for number in lineup], check)

    def _restored(self, program: Worker) -> Built:
        self.supervisor.replace(program.child.server)
        [built] = self.build([program.program], program.check)
        return built


def local_engine(target: str | None, settings: EngineSettings) -> LocalEngine:
    """The engine for a target as users give it, JSON or the name of a kind; None for this CPU."""
    check_toolchain()
    resolved = resolve_target(target)
    if resolved.kind.name == "cuda":
        check_device(resolved)
        check_compiler(resolved)
        check_cores(settings.cores, 1)
        check_gpu_caches(settings, int(describe_gpu()["l2_bytes"]))
    else:
        check_cores(settings.cores, threads_of(resolved))
    register_intrinsics(resolved)
    return LocalEngine(resolved, settings)
