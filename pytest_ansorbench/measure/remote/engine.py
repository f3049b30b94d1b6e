"""The engine that builds here and measures on a device behind TVM's RPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.cores import usable_cores
from pytest_ansorbench.cuda import check_arch, check_compiler
from pytest_ansorbench.environment import (
    check_toolchain,
    device_name,
    resolve_target,
    triple_of,
)
from pytest_ansorbench.measure.engine import EngineError
from pytest_ansorbench.measure.intrinsics import register_intrinsics
from pytest_ansorbench.measure.local.asking import ProgramFailure
from pytest_ansorbench.measure.local.builder import Builder
from pytest_ansorbench.measure.local.fork_server import ForkServer, ServerDied
from pytest_ansorbench.measure.local.forking_engine import ForkingEngine
from pytest_ansorbench.measure.local.gpu import check_gpu_caches
from pytest_ansorbench.measure.local.machine import describe_machine
from pytest_ansorbench.measure.local.side_by_side import BuildSet
from pytest_ansorbench.measure.outcomes import Built
from pytest_ansorbench.measure.program import Buildable
from pytest_ansorbench.measure.remote.libraries import LinkedLibrary
from pytest_ansorbench.measure.remote.relay import Relays, RemoteProgram
from pytest_ansorbench.measure.remote.settings import RemoteSettings
from pytest_ansorbench.measure.remote.tracker import Lease
from pytest_ansorbench.measure.settings import EngineSettings
from pytest_ansorbench.records import MachineState

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_SESSION_TIMEOUTS: Final = 4.0
"""Time limits of a kernel that a session lasts, at most."""


class RemoteEngine(ForkingEngine):
    """Compiles programs here and measures them on one device; an `Engine`.

    Programs are compiled by forks of a warm server, as `LocalEngine` compiles them, to object
    files, and linked. A session with the device, held by a process of its own, takes the libraries
    and their arguments; policies time them there, networks on the device's own virtual machine.
    Programs of one session share its process, a leader's and a candidate's too. Placement on cores
    is the device's own affair.
    """

    def __init__(self, target: Target, settings: EngineSettings, remote: RemoteSettings) -> None:
        assert remote.address is not None
        self._remote = remote
        self._session_s = _SESSION_TIMEOUTS * settings.run_timeout_s
        self._lease = Lease(remote.address, remote.patience_s)
        super().__init__(target, settings)

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        """Packages are those that compile; hardware is the device's."""
        here = describe_machine()
        try:
            relay = self._relays.ready(None)
            relay.allow(self._settings.run_timeout_s)
            device, _ = relay.ask({"op": "describe"})
            if gpu := device["gpu"]:
                check_arch(self.target, gpu["arch"])
                check_gpu_caches(self._settings, gpu["l2_bytes"])
        except (ProgramFailure, ServerDied) as error:
            cause = str(error) or "the process that talks to it is gone"
            raise EngineError(f"the device does not describe itself: {cause}") from None
        is_for_x86 = triple_of(self.target).startswith(("x86_64-", "i386-", "i686-"))
        return {
            **dict.fromkeys(here),
            "cpu": device["cpu"],
            "logical_cores": device["threads"],
            "caches_bytes": {},
            "python": here["python"],
            "packages": here["packages"],
            "triple": device["triple"],
            "emulated": device["on_x86"] and not is_for_x86,
            **self._remote.conditions(),
            **({"gpu": gpu} if gpu else {}),
            "target": str(self.target),
        }

    @property
    def restarts(self) -> int:
        """Of the fork server, and of sessions with the device."""
        return self.supervisor.restarts + self._relays.lost

    def close(self) -> None:
        """End all processes and give the device back; the next start may get another."""
        self._relays.close()
        self._lease.lose()
        vars(self).pop("machine", None)
        super().close()

    def observe(self) -> MachineState:
        return MachineState(0.0, 0.0, None, None)

    def build(
        self, programs: Sequence[Buildable], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        """Build programs; what is built is uploaded while the rest is built."""
        try:
            self._relays.ready(check, _functions(programs))
        except ServerDied:
            self._replace_server()
        return super().build(programs, check, limit_s)

    def _replace_server(self) -> None:
        self.supervisor.replace(self.supervisor.server)

    def _new_server(self) -> ForkServer:
        limit_mb, device = self._settings.memory_limit_mb, device_name(self.target)
        return ForkServer(
            threads=1,
            memory_limit_mb=limit_mb,
            device="" if device == "cpu" else device,
            writes_files=True,
        )

    def _new_builder(self) -> Builder:
        # Programs compile on this machine's cores, and not on the target's.
        at_a_time = self._settings.build_workers or usable_cores().count
        settings = replace(self._settings, build_workers=at_a_time)
        device = device_name(self.target)
        self._relays = Relays(self.supervisor, self._lease, self._session_s, device)
        linked = LinkedLibrary(self._remote.linker, self.target, self._relays, settings.flush_mb)
        return Builder(self.supervisor, self.target, {}, settings, "object", linked.taken)

    def _set_of(self, programs: Sequence[Buildable], check: Check | None) -> BuildSet:
        """Each set begins in a session of its own, to which all programs are uploaded.

        They are built once for all sets, those again whose builder was killed.
        """
        self._relays.close()
        built = self._builder.build(programs, check)

        def in_fresh_session(lineup: Sequence[int]) -> list[Built]:
            self._relays.close()
            killed = [number for number in lineup if built[number].was_killed]
            again = self._builder.build([programs[number] for number in killed], check)
            for number, one in zip(killed, again, strict=True):
                built[number] = one
            self._relays.fresh(check, _functions(programs))
            return [built[number] for number in lineup]

        return in_fresh_session

    def _restored(self, program: RemoteProgram) -> Built:
        self._replace_server()
        return Built("ok", 0.0, handle=program)


def _functions(programs: Sequence[Buildable]) -> int:
    """Of the one that has most."""
    return max((program.functions for program in programs), default=1)


def remote_engine(
    target: str | None, settings: EngineSettings, remote: RemoteSettings
) -> RemoteEngine:
    """The engine for a target as users give it, JSON; None for a device like this machine's CPU."""
    check_toolchain()
    resolved = resolve_target(target)
    if resolved.kind.name == "cuda":
        check_compiler(resolved)
    register_intrinsics(resolved)
    return RemoteEngine(resolved, settings, remote)
