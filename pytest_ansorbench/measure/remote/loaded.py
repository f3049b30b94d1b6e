"""Programs in a session with a device, from the inside of the process that talks to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.arguments import Shapes
from pytest_ansorbench.measure.local.compiled import PlacedKernel, arrays_in, evaluate, first_run
from pytest_ansorbench.measure.local.places import Copied, Device, Place, sent
from pytest_ansorbench.measure.verification import Called

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_ansorbench.workloads.case import Check

_MAIN: Final = "main"
"""A network's function."""
_INVOKE: Final = "invoke_stateful"
"""Calls a function of a virtual machine with the inputs that it holds."""


class Inputs:
    """Arrays on the device, each sent once a session: programs must not write to them."""

    def __init__(self, device: Any) -> None:
        self.device = OverRpc(device)
        self._sent: dict[int, Any] = {}  # by identity of the array, which lives as long

    def of(self, check: Check) -> list[Any]:
        for array in check.inputs:
            if id(array) not in self._sent:
                [self._sent[id(array)]] = sent([array], self.device.tvm)
        return [self._sent[id(array)] for array in check.inputs]


class Loaded(Called):
    """A program in the session. Its `timed_s` is never known: a single call goes there and back."""

    def time_again(self) -> float:
        raise NotImplementedError("a device's calls are not timed one by one")

    @abstractmethod
    def take(self, check: Check | None) -> None:
        """Have its arguments on the device: the check's inputs, or random ones."""


class LoadedKernel(PlacedKernel, Loaded):
    """A kernel, which is given its output to write to."""

    def __init__(self, module: Any, shapes: Shapes, inputs: Inputs) -> None:
        super().__init__(module, inputs.device)
        self._shapes = shapes

    def take(self, check: Check | None) -> None:
        """Send the arguments: the check's inputs, or random ones, and outputs with no result."""
        self.place(self._shapes, check)

    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        return self.timed(calls, samples, flush_bytes)


class OverRpc(Device):
    """A session's device. Arrays are sent without what lies around them: it is not looked at."""

    def __init__(self, device: Any) -> None:
        import tvm
        from tvm.rpc.base import RPC_SESS_MASK

        self.tvm = device
        kind = device.dlpack_device_type() % RPC_SESS_MASK
        self.is_cpu = kind == tvm.cpu().dlpack_device_type()

    def place(self, arrays: Sequence[NDArray[Any]], memories: Sequence[NDArray[np.uint8]]) -> Place:
        tensors = sent(arrays, self.tvm)
        return Copied(tensors, tensors, arrays)

    def sync(self) -> None:
        """Wait for others than CPUs, whose calls return when they are done."""
        if not self.is_cpu:
            self.tvm.sync()


class LoadedNetwork(Loaded):
    """A network on a virtual machine of the device, which holds a copy of its inputs, weights too.

    So nothing travels in a timed call, and nobody sees what a network writes to its inputs. A
    machine's functions return to RPC no more than a tensor; those that are called with inputs that
    the machine holds leave it tuples as well (`relax.VirtualMachine.set_input`).
    """

    def __init__(self, module: Any, shapes: Shapes, inputs: Inputs) -> None:
        from tvm import relax

        self._machine = relax.VirtualMachine(module, inputs.device.tvm)
        self._inputs = inputs
        self._held: Check | None = None  # whose inputs the machine holds

    def take(self, check: Check | None) -> None:
        assert check is not None
        self._given = check
        self._hold(check)

    def call(self) -> float:
        return self.call_on(self._given)

    def time(self, calls: int, samples: int, flush_bytes: int) -> list[float]:
        self._hold(self._given)
        return evaluate(
            self._machine.module,
            _INVOKE,
            (_MAIN,),
            calls,
            samples,
            device=self._inputs.device.tvm,
            flush_bytes=flush_bytes,
        )

    def outputs(self) -> Sequence[NDArray[Any]]:
        return tuple(arrays_in(self._machine.get_outputs(_MAIN)))

    def damage(self) -> str:
        return ""

    def call_again(self) -> None:
        self.call()

    def call_on(self, check: Check) -> float:
        self._hold(check)
        return first_run(self._machine.module, _INVOKE, (_MAIN,), self._inputs.device)

    def _hold(self, check: Check) -> None:
        if self._held is not check:
            self._machine.set_input(_MAIN, *self._inputs.of(check))
            self._held = check
