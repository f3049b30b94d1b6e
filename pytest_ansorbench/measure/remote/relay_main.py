"""The process that talks to a device, from the inside: one RPC session, some programs in it.

TVM's RPC calls cannot be interrupted. So they are made in a process of their own, a child of the
fork server as those that compile are: the engine can kill it, and with it the session.
Arguments and output travel once a program; what is timed is timed on the device.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.arguments import Shapes
from pytest_ansorbench.measure.local.channel import Channel, answer
from pytest_ansorbench.measure.local.gpu import described
from pytest_ansorbench.measure.remote.loaded import Inputs, Loaded, LoadedKernel, LoadedNetwork
from pytest_ansorbench.measure.verification import computed, fault

if TYPE_CHECKING:
    from tvm.rpc.client import RPCSession

    from pytest_ansorbench.workloads.case import Check

_KNOWN: Final[Mapping[str, str]] = {
    "cpu": "target.llvm_get_system_cpu",
    "triple": "target.llvm_get_system_triple",
    "threads": "runtime.NumThreads",
}
"""What a device says of itself, by the function that tells; one without LLVM says less."""
MODALIAS: Final = "/sys/devices/system/cpu/modalias"
"""What Linux says of the processor that it runs on itself, e.g. `cpu:type:x86,ven0002fam0019`."""
_PAUSE_S: Final = 1.0
"""Between attempts to connect, each of which costs a descriptor: TVM does not close its socket."""
_ANSWERED: Final = "URL "
"""TVM's word where what listens has another key, or is no server of TVM's."""
_KINDS: Final[Mapping[str, type[LoadedKernel] | type[LoadedNetwork]]] = MappingProxyType(
    {"kernel": LoadedKernel, "network": LoadedNetwork}
)
_OPERATIONS: Final = (
    "open",
    "describe",
    "load",
    "unload",
    "arguments",
    "call",
    "time",
    "check",
    "outputs",
)


class RelayMain:
    """Answers the requests about one session: open, load, arguments, call or time, check."""

    _session: RPCSession  # from `open` on
    _inputs: Inputs

    def __init__(self, channel: Channel, check: Check | None) -> None:
        self._channel = channel
        self._check = check
        self._programs: dict[int, Loaded] = {}

    def serve(self) -> None:
        answer(self._channel, {name: getattr(self, name) for name in _OPERATIONS})

    def open(
        self,
        host: str,
        port: int,
        matchkey: str,
        timeout_s: float,
        patience_s: float,
        device: str,
    ) -> dict[str, Any]:
        """Connect to a device, which ends the session by itself after a time.

        It may be some seconds until its server takes a connection: `patience_s`. `device` is TVM's
        name of what there runs programs.
        """
        from tvm import rpc

        deadline_s = time.monotonic() + patience_s
        # TVM's C++ server ends for good on a timeout that is no whole number.
        session_timeout = math.ceil(timeout_s)
        while True:
            try:
                self._session = rpc.connect(host, port, matchkey, session_timeout=session_timeout)
                break
            except Exception as error:  # a tunnel hangs up where no server listens
                if time.monotonic() >= deadline_s or _ANSWERED in str(error):
                    raise
            time.sleep(_PAUSE_S)
        self._inputs = Inputs(self._session.device(device))
        return {}

    def describe(self) -> dict[str, Any]:
        """What the device says of itself; None for what it cannot."""
        said = {name: self._said(function) for name, function in _KNOWN.items()}
        gpu, device = None, self._inputs.device
        if not device.is_cpu:
            if not device.tvm.exist:
                raise RuntimeError("it has no CUDA device")
            gpu = described(device.tvm)
        return {**said, "on_x86": self._is_on_x86(), "gpu": gpu}

    def load(self, program: int, kind: str, shapes: Shapes, payload: bytes) -> dict[str, Any]:
        """Upload a shared library and load it."""
        name = f"{program}.so"
        self._session.upload(bytearray(payload), name)
        module = self._session.load_module(name)
        self._programs[program] = _KINDS[kind](module, shapes, self._inputs)
        return {}

    def unload(self, program: int) -> dict[str, Any]:
        if self._programs.pop(program, None) is not None:
            self._session.remove(f"{program}.so")
        return {}

    def arguments(self, program: int) -> dict[str, Any]:
        self._programs[program].take(self._check)
        return {}

    def call(self, program: int) -> dict[str, Any]:
        return {"seconds": self._programs[program].call()}

    def time(self, program: int, calls: int, samples: int, flush_mb: int) -> dict[str, Any]:
        flush_bytes = flush_mb * 1_000_000
        return {"seconds": self._programs[program].time(calls, samples, flush_bytes)}

    def check(self, program: int) -> dict[str, Any]:
        """What is wrong with what it wrote; `wrong` is empty if nothing is."""
        return {"wrong": fault(self._programs[program], self._check)}

    def outputs(self, program: int) -> dict[str, Any]:
        return computed(self._programs[program], self._check)

    def _said(self, function: str) -> Any:
        try:
            said = self._session.get_function(function)()
        except Exception:  # a device without it raises whatever its TVM raises
            return None
        return said if isinstance(said, int) else str(said)

    def _is_on_x86(self) -> bool:
        """Whether its Linux runs on x86: a user-mode emulator's processes see their host's."""
        try:
            said = bytes(self._session.download(MODALIAS))
        except Exception:  # a device without it raises whatever its TVM raises
            return False
        return b":type:x86" in said
