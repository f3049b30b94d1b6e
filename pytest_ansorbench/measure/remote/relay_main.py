"""The process that talks to a device, from the inside: one RPC session, some programs in it.

TVM's RPC calls cannot be interrupted. So they are made in a process of their own, a child of the
fork server as those that compile are: the engine can kill it, and with it the session.
Arguments and output travel once a program; what is timed is timed on the device.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.arguments import Arguments, OwnInputs, Shapes, same_bytes
from pytest_ansorbench.measure.local.channel import Channel, answer
from pytest_ansorbench.measure.local.compiled import (
    KERNEL_ENTRY,
    LATE,
    LATE_S,
    evaluate,
    first_run,
)
from pytest_ansorbench.measure.verification import computed, fault

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm.rpc.client import RPCSession

    from pytest_ansorbench.workloads.case import Check

_KNOWN: Final[Mapping[str, str]] = {
    "cpu": "target.llvm_get_system_cpu",
    "triple": "target.llvm_get_system_triple",
    "threads": "runtime.NumThreads",
}
"""What a device says of itself, by the function that tells; one without LLVM says less."""
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


class _Loaded:
    """A program in the session, by the number that it is called by."""

    timed_s = None
    """Nothing is judged by it: a single call goes there and back."""

    def __init__(self, module: Any, shapes: Shapes, device: Any) -> None:
        self.module = module
        self.tensors: Sequence[Any] = ()  # its arguments on the device, once they are made
        self._shapes = shapes
        self._device = device
        self._check: Check | None = None
        self._arguments: Arguments | None = None  # as they are sent
        self._own: OwnInputs | None = None
        self._own_tensors: Sequence[Any] = ()

    def take(self, check: Check | None) -> None:
        """Send the arguments: the check's inputs, or random ones, and outputs with no result."""
        self._check, self._own = check, None
        self._arguments = Arguments(self._shapes, check)
        self.tensors = self._sent(self._arguments.arrays)

    def time_again(self) -> float:
        raise NotImplementedError("a device's calls are not timed one by one")

    def outputs(self) -> Sequence[NDArray[Any]]:
        return [tensor.numpy() for tensor in self._written]

    def damage(self) -> str:
        """What it wrote to its inputs; of other memory on the device nothing is known."""
        if self._own is None:
            return ""
        for tensor, array in zip(self._own_tensors, self._own.arrays, strict=True):
            array[...] = tensor.numpy()
        return self._own.damage()

    def call_again(self) -> None:
        assert self._check is not None
        self._clear(self._check)
        self.module[KERNEL_ENTRY](*self.tensors)

    def call_on(self, check: Check) -> float:
        if self._own is None:
            self._own = OwnInputs(check.inputs)
            self._own_tensors = self._sent(self._own.arrays)
        self._own.hold(check.inputs)
        for tensor, array in zip(self._own_tensors, self._own.arrays, strict=True):
            tensor.copyfrom(array)
        self._clear(check)
        return first_run(self.module, KERNEL_ENTRY, (*self._own_tensors, *self._written))

    def late(self) -> str:
        self._ready().blank()
        self._send_outputs()
        time.sleep(LATE_S)
        return "" if same_bytes(self.outputs(), self._ready().outputs) else LATE

    @property
    def _written(self) -> Sequence[Any]:
        return self.tensors[-len(self._ready().outputs) :]

    def _ready(self) -> Arguments:
        assert self._arguments is not None
        return self._arguments

    def _clear(self, check: Check) -> None:
        self._ready().clear(check)
        self._send_outputs()

    def _send_outputs(self) -> None:
        for tensor, array in zip(self._written, self._ready().outputs, strict=True):
            tensor.copyfrom(array)

    def _sent(self, arrays: Sequence[NDArray[Any]]) -> list[Any]:
        from tvm.runtime import tensor

        return [tensor(array, device=self._device) for array in arrays]


class RelayMain:
    """Answers the requests about one session: open, load, arguments, call or time, check."""

    def __init__(self, channel: Channel, check: Check | None, cores: Sequence[int]) -> None:
        self._channel = channel
        self._check = check
        self._session: RPCSession | None = None
        self._programs: dict[int, _Loaded] = {}

    def serve(self) -> None:
        answer(self._channel, {name: getattr(self, name) for name in _OPERATIONS})

    def open(self, host: str, port: int, matchkey: str, timeout_s: float) -> dict[str, Any]:
        """Connect to a device, which ends the session by itself after a time."""
        from tvm import rpc

        self._session = rpc.connect(host, port, matchkey, session_timeout=timeout_s)
        return {}

    def describe(self) -> dict[str, Any]:
        """What the device says of itself; None for what it cannot."""
        return {name: self._said(function) for name, function in _KNOWN.items()}

    def load(self, program: int, shapes: Shapes, payload: bytes) -> dict[str, Any]:
        """Upload a shared library and load it."""
        name = f"{program}.so"
        started_s = time.monotonic()
        self._remote.upload(bytearray(payload), name)
        self._programs[program] = _Loaded(
            self._remote.load_module(name), shapes, self._remote.cpu()
        )
        return {"seconds": time.monotonic() - started_s}

    def unload(self, program: int) -> dict[str, Any]:
        if self._programs.pop(program, None) is not None:
            self._remote.remove(f"{program}.so")
        return {}

    def arguments(self, program: int) -> dict[str, Any]:
        self._programs[program].take(self._check)
        return {}

    def call(self, program: int) -> dict[str, Any]:
        """Call it once; the seconds include the way there and back."""
        loaded = self._programs[program]
        return {"seconds": first_run(loaded.module, KERNEL_ENTRY, loaded.tensors)}

    def time(self, program: int, calls: int, samples: int, flush_mb: int) -> dict[str, Any]:
        """Time it on the device, after one call that does not count."""
        loaded = self._programs[program]
        seconds = evaluate(
            loaded.module,
            KERNEL_ENTRY,
            loaded.tensors,
            calls,
            samples,
            device=self._remote.cpu(),
            flush_bytes=flush_mb * 1_000_000,
        )
        return {"seconds": seconds}

    def check(self, program: int) -> dict[str, Any]:
        """What is wrong with what it wrote; `wrong` is empty if nothing is."""
        return {"wrong": fault(self._programs[program], self._check)}

    def outputs(self, program: int) -> dict[str, Any]:
        return computed(self._programs[program], self._check)

    def _said(self, function: str) -> Any:
        try:
            said = self._remote.get_function(function)()
        except Exception:  # a device without it raises whatever its TVM raises
            return None
        return said if isinstance(said, int) else str(said)

    @property
    def _remote(self) -> RPCSession:
        assert self._session is not None
        return self._session
