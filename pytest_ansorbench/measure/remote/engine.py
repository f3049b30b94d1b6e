"""The engine that builds here and measures on a device behind TVM's RPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.environment import check_toolchain, resolve_target
from pytest_ansorbench.measure.engine import EngineError, UntunedError
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.asking import ProgramError, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ForkServer, ServerDied
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.outcomes import Built, Measured, MeasuredInTurn
from pytest_ansorbench.measure.policy import Measurement
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.remote.lease import Lease
from pytest_ansorbench.measure.remote.libraries import LinkedLibrary
from pytest_ansorbench.measure.remote.relay import Relays, RemoteProgram
from pytest_ansorbench.measure.remote.runner import RemoteRunner
from pytest_ansorbench.measure.remote.settings import RemoteSettings
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import MachineState

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_SESSION_TIMEOUTS: Final = 4.0
"""Time limits of a program that a session lasts, at most."""


class RemoteEngine:
    """Compiles programs here and measures them on one device; an `Engine`.

    Programs are compiled by forks of a warm server, as `LocalEngine` compiles them, to object
    files, and linked. A session with the device, held by a process of its own, takes the libraries
    and their arguments; policies time them there. Programs of one session share its process.

    Attributes:
        target: TVM target of the device.
    """

    #: Built programs are libraries in memory.
    capacity: Final = 64

    def __init__(self, target: Target, settings: EngineSettings, remote: RemoteSettings) -> None:
        """Prepare; nothing is started.

        Args:
            target: What to compile for.
            settings: How to build and run. Placement on cores is the device's own affair.
            remote: Where, with an address.

        Raises:
            ToolchainError: There is no such linker.
        """
        assert remote.address is not None
        self.target = target
        self._settings = settings
        self._remote = remote
        self._machine: Mapping[str, Any] | None = None
        self._supervisor = Supervisor(self._new_server)
        session_s = _SESSION_TIMEOUTS * settings.run_timeout_s
        self._lease = Lease(remote.address, remote.patience_s, session_s)
        self._relays = Relays(self._supervisor, self._lease, session_s)
        linked = LinkedLibrary(remote.linker, self._relays, settings.flush_mb)
        self._builder = Builder(self._supervisor, target, {}, settings, linked)
        self._runner = RemoteRunner(self._supervisor, self._relays, settings)

    @property
    def machine(self) -> Mapping[str, Any]:
        """The device as it describes itself, and what compiled for it; see `Engine.machine`.

        Raises:
            EngineError: There is no device.
        """
        if self._machine is None:
            self._machine = self._described()
        return self._machine

    @property
    def restarts(self) -> int:
        """How often a session or the fork server had to be replaced."""
        return self._supervisor.restarts + self._relays.lost

    def __enter__(self) -> RemoteEngine:
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
        """End all processes and give the device back; see `Engine.close`.

        Who starts again may get another device.
        """
        self._end_session()
        self._lease.lose()
        self._machine = None
        self._supervisor.close()

    def observe(self) -> MachineState:
        """Nothing is known of what else a device does; see `Engine.observe`."""
        return MachineState(0.0, 0.0, None, None)

    def build(
        self, programs: Sequence[Buildable], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        """See `Engine.build`; what is built is uploaded while the rest is built."""
        try:
            self._relays.ready(check)
        except ServerDied:
            self._replace_server()
        return self._builder.build(programs, check, limit_s)

    def run(
        self,
        built: Built,
        measurement: Measurement,
        *,
        best_s: float | None = None,
        incumbent: Built | None = None,
    ) -> Measured:
        """See `Engine.run`. The incumbent is in the session of the program that is run."""
        return self._runner.run(built, measurement, best_s, incumbent)

    def discard(self, built: Built) -> None:
        """See `Engine.discard`."""
        if built.handle is not None:
            built.handle.end()

    def measure_side_by_side(
        self, programs: Sequence[Buildable], check: Check | None, effort: SideBySide
    ) -> list[MeasuredInTurn]:
        """See `Engine.measure_side_by_side`; each set has a session of its own."""
        self._end_session()  # each set uploads to its own
        built = self._builder.build(programs, check)
        turns = TurnTaking(len(programs), effort, self._runner, cold=self._settings.flush_mb > 0)
        while not turns.finished:
            try:
                self._relays.fresh(check)
                turns.measure_set([built[place] for place in turns.lineup])
            except ServerDied:
                self._replace_server()
        return turns.outcomes

    def output(self, program: Program, check: Check) -> NDArray[Any]:
        """See `Engine.output`."""
        [built] = self.build([program], check)
        if built.handle is None:
            raise UntunedError(f"{built.status}: {built.error}")
        remote: RemoteProgram = built.handle
        outputs = []

        def call() -> tuple[float, ...]:
            remote.make_arguments()
            seconds = remote.first_call()
            outputs.append(remote.output())
            return (seconds,)

        while True:
            try:
                self._relays.ready(check)
                outcome = self._runner.attempt(remote, call)
                break
            except ServerDied:
                self._replace_server()
        if outcome.status != "ok":
            raise UntunedError(outcome.error)
        remote.end()
        return outputs[0]

    def _described(self) -> Mapping[str, Any]:
        """Packages are those that compile; hardware is the device's."""
        here = describe_machine()
        try:
            relay = self._relays.ready(None)
            relay.allow(self._settings.run_timeout_s)
            device = relay.ask({"op": "describe"})
        except (ProgramError, WorkerDied, WorkerTimeout, ServerDied) as error:
            raise EngineError(f"the device does not describe itself: {error}") from None
        return {
            "system": None,
            "release": None,
            "machine": None,
            "cpu": device["cpu"],
            "logical_cores": device["threads"],
            "physical_cores": None,
            "caches_bytes": {},
            "memory_bytes": None,
            "python": here["python"],
            "packages": here["packages"],
            "triple": device["triple"],
            **self._remote.conditions(),
            "target": str(self.target),
        }

    def _end_session(self) -> None:
        try:
            self._relays.close()
        except ServerDied:
            self._relays.forget()

    def _replace_server(self) -> None:
        self._relays.forget()
        self._supervisor.replace(self._supervisor.server)

    def _new_server(self) -> ForkServer:
        server = ForkServer(
            threads=1, memory_limit_mb=self._settings.memory_limit_mb, caches="warm"
        )
        try:
            server.wait_until_warm()
        except BaseException:
            server.close()
            raise
        return server


def remote_engine(
    target: str | None, settings: EngineSettings, remote: RemoteSettings
) -> RemoteEngine:
    """The engine for a target as users give it; checks toolchain and target.

    Args:
        target: TVM target of the device, as JSON; None for one like this machine's CPU.
        settings: How to build and run.
        remote: Where.

    Raises:
        ToolchainError: Something is missing or does not fit.
    """
    check_toolchain()
    resolved = resolve_target(target)
    register_intrinsics(resolved)
    return RemoteEngine(resolved, settings, remote)
