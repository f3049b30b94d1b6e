"""The engine that builds here and measures on a device behind TVM's RPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.environment import check_toolchain, resolve_target
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.asking import ProgramError, WorkerDied, WorkerTimeout
from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ForkServer, ServerDied
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.local.runner import Runner
from pytest_ansorbench.measure.local.side_by_side import TurnTaking
from pytest_ansorbench.measure.local.supervisor import Supervisor
from pytest_ansorbench.measure.outcomes import Built, Measured, MeasuredInTurn
from pytest_ansorbench.measure.policy import Measurement
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.remote.lease import Lease
from pytest_ansorbench.measure.remote.libraries import LinkedLibrary
from pytest_ansorbench.measure.remote.relay import Relays, RemoteProgram
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
    and their arguments; policies time them there. Programs of one session share its process, a
    leader's and a candidate's too. Placement on cores is the device's own affair.
    """

    capacity: Final = 64
    """Built programs are libraries in memory."""

    def __init__(self, target: Target, settings: EngineSettings, remote: RemoteSettings) -> None:
        """Prepare; nothing is started. A ToolchainError says that there is no such linker."""
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
        self._builder = Builder(self._supervisor, target, {}, settings, "object", linked.taken)
        self._runner = Runner(self._supervisor, self._restored, settings)

    @property
    def machine(self) -> Mapping[str, Any]:
        """The device as it describes itself, and what compiled for it."""
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

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        assert self._supervisor.server

    def close(self) -> None:
        """End all processes and give the device back; who starts again may get another."""
        self._relays.close()
        self._lease.lose()
        self._machine = None
        self._supervisor.close()

    def observe(self) -> MachineState:
        """Nothing is known of what else a device does."""
        return MachineState(0.0, 0.0, None, None)

    def build(
        self, programs: Sequence[Buildable], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        """Build programs; what is built is uploaded while the rest is built."""
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
        return self._runner.run(built, measurement, best_s, incumbent)

    def discard(self, built: Built) -> None:
        if built.handle is not None:
            built.handle.end()

    def measure_side_by_side(
        self, programs: Sequence[Buildable], check: Check | None, effort: SideBySide
    ) -> list[MeasuredInTurn]:
        """Measure programs in turn; each set has a session of its own."""
        self._relays.close()  # each set uploads to its own
        built = self._builder.build(programs, check)

        def build_set(lineup: Sequence[int]) -> list[Built]:
            self._relays.fresh(check)
            return [built[number] for number in lineup]

        cold = self._settings.flush_mb > 0
        return TurnTaking(
            len(programs), effort, self._runner, build_set, [self._supervisor], cold=cold
        ).measure()

    def output(self, program: Program, check: Check) -> NDArray[Any]:
        [built] = self.build([program], check)
        return self._runner.output(built)

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

    def _replace_server(self) -> None:
        self._supervisor.replace(self._supervisor.server)

    def _restored(self, program: RemoteProgram) -> Built:
        self._replace_server()
        return Built("ok", 0.0, handle=program)

    def _new_server(self) -> ForkServer:
        return ForkServer(threads=1, memory_limit_mb=self._settings.memory_limit_mb, caches="warm")


def remote_engine(
    target: str | None, settings: EngineSettings, remote: RemoteSettings
) -> RemoteEngine:
    """The engine for a target as users give it, JSON; None for a device like this machine's CPU.

    Checks toolchain, target and linker: ToolchainError.
    """
    check_toolchain()
    resolved = resolve_target(target)
    register_intrinsics(resolved)
    return RemoteEngine(resolved, settings, remote)
