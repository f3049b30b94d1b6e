"""The engine that measures on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.environment import check_cores, check_toolchain, resolve_target
from pytest_ansorbench.measure.engine import UntunedError
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.asking import ProgramError, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ForkServer, ServerDied
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.local.machine_state import observe_machine
from pytest_ansorbench.measure.local.runner import Runner
from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.local.worker import Worker
from pytest_ansorbench.measure.outcomes import Built, Measured, MeasuredInTurn
from pytest_ansorbench.measure.policy import Measurement
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.measure.toolchain import Toolchain
from pytest_ansorbench.records import MachineState

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check


class LocalEngine:
    """Compiles and measures programs here, each in a process of its own; an `Engine`.

    The processes are forks of one warm server. To build, up to `build_workers` of them compile
    at a time, to machine code in their own memory. Then they wait, and `run` lets one at a time
    make its arguments, run, compare its output, and exit.

    Attributes:
        target: TVM target that programs are compiled for.
        toolchain: What compiles and runs them.
    """

    #: Each built program holds some 16 MB until it is run.
    capacity: Final = 64

    def __init__(
        self,
        target: Target,
        settings: EngineSettings = EngineSettings(),  # noqa: B008 - frozen
        toolchain: Toolchain = Toolchain(),  # noqa: B008 - frozen
    ) -> None:
        """Prepare; nothing is started.

        Args:
            target: What to compile for; its `num-cores` is the number of kernel threads.
            settings: How to build and run.
            toolchain: What compiles and runs; attributes that it lays over those of the target
                are laid over by whoever makes the engine.
        """
        self.target = target
        self.toolchain = toolchain
        self._settings = settings
        self._supervisor = Supervisor(self._new_server)
        self._builder = Builder(self._supervisor, target, toolchain.passes, settings)
        self._runner = Runner(self._supervisor, self._builder, settings)

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        """This machine, see `Engine.machine`."""
        own = self._supervisor.server.machine if self.toolchain.python else describe_machine()
        return {**own, "target": str(self.target)}

    @property
    def restarts(self) -> int:
        """How often the fork server had to be replaced."""
        return self._supervisor.restarts

    @property
    def server_pid(self) -> int:
        """Process id of the fork server, whose children the workers are."""
        return self._supervisor.server.pid

    def __enter__(self) -> LocalEngine:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the fork server and wait until it is warm; see `Engine.start`."""
        assert self._supervisor.server

    def close(self) -> None:
        """End all processes; see `Engine.close`."""
        self._supervisor.close()

    def observe(self) -> MachineState:
        """See `Engine.observe`; a quarter of a second."""
        return observe_machine()

    def build(
        self, programs: Sequence[Buildable], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        """See `Engine.build`; each built program holds a process."""
        return self._builder.build(programs, check, limit_s)

    def run(
        self,
        built: Built,
        measurement: Measurement,
        *,
        best_s: float | None = None,
        incumbent: Built | None = None,
    ) -> Measured:
        """See `Engine.run`; under `check="all"` any wrong output is a failure.

        A program that is kept is a process that sleeps. With cold caches none is kept.
        """
        return self._runner.run(built, measurement, best_s, incumbent)

    def discard(self, built: Built) -> None:
        """See `Engine.discard`."""
        if built.handle is not None:
            _end(built.handle)

    def measure_side_by_side(
        self, programs: Sequence[Buildable], check: Check | None, effort: SideBySide
    ) -> list[MeasuredInTurn]:
        """See `Engine.measure_side_by_side`; whose turn it is not is suspended.

        Otherwise TVM's threads would busy-wait beside the others' slices. Threads that sleep at
        once (`TVM_THREAD_POOL_SPIN_COUNT=0`) make small kernels slower: docs/measurement.md.
        """
        turns = TurnTaking(len(programs), effort, self._runner, cold=self._settings.flush_mb > 0)
        while not turns.finished:
            built = self._builder.build([programs[place] for place in turns.lineup], check)
            server = self._supervisor.server
            try:
                turns.measure_set(built)
            except ServerDied:
                self._supervisor.replace(server)
            else:
                self._supervisor.note_success()
        return turns.outcomes

    @property
    def runner(self) -> Runner:
        """Tells failures of programs apart."""
        return self._runner

    def replace_server(self) -> None:
        """Start another fork server in place of one that is gone, or may be.

        Raises:
            EngineError: That was necessary several times in a row, or it does not start.
        """
        self._supervisor.replace(self._supervisor.server)

    def renew_server(self) -> None:
        """Start another fork server, whose processes have their memory laid out anew.

        Raises:
            EngineError: It does not start.
        """
        self._supervisor.renew()

    def note_success(self) -> None:
        """Forget earlier deaths of the fork server."""
        self._supervisor.note_success()

    def code_bytes(self, built: Built) -> int | None:
        """Size of the object file of a program that waits to be run; None if it cannot be told."""
        if built.handle is None:
            return None
        try:
            size: int = built.handle.code_bytes()
        except (ProgramError, WorkerDied, WorkerTimeout):
            return None
        return size

    def output(self, program: Program, check: Check) -> NDArray[Any]:
        """See `Engine.output`."""
        while True:
            [built] = self._builder.build([program], check)
            if built.handle is None:
                raise UntunedError(f"{built.status}: {built.error}")
            try:
                return self._output_of(built.handle)
            except ServerDied:
                self._supervisor.replace(built.handle.child.server)

    def _output_of(self, worker: Worker) -> NDArray[Any]:
        outputs = []

        def call() -> tuple[float, ...]:
            worker.make_arguments()
            seconds = worker.first_call()
            outputs.append(worker.output())
            return (seconds,)

        outcome = self._runner.attempt(worker, call)
        if outcome.status != "ok":
            raise UntunedError(outcome.error)
        worker.end()
        return outputs[0]

    def _new_server(self) -> ForkServer:
        server = ForkServer(
            threads=int(self.target.attrs["num-cores"]),
            memory_limit_mb=self._settings.memory_limit_mb,
            caches=self._settings.found_caches,
            cores=self._settings.cores,
            python=self.toolchain.python,
        )
        try:
            server.wait_until_warm()
        except BaseException:
            server.close()
            raise
        return server


def local_engine(target: str | None, settings: EngineSettings) -> LocalEngine:
    """The engine for a target as users give it; checks toolchain, target and cores.

    Imports TVM, and registers the tensor intrinsics that the target's schedule rules name.

    Args:
        target: TVM target as JSON or as the name of a kind; None for this machine's CPU.
        settings: How to build and run.

    Raises:
        ToolchainError: Something is missing or does not fit.
    """
    check_toolchain()
    resolved = resolve_target(target)
    check_cores(settings.cores, int(resolved.attrs["num-cores"]))
    register_intrinsics(resolved)
    return LocalEngine(resolved, settings)


def _end(worker: Worker) -> None:
    worker.child.kill()
    with contextlib.suppress(ServerDied):
        worker.end()
