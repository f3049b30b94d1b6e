"""A worker process from the inside: compiles one program, times it, checks what it wrote.

A request is a message on the child's channel; each gets one message in reply. A fault that
leaves the process alive is a reply with `error`; one that does not is seen by the parent. The
end of the channel ends the child.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_ansorbench.arrays import pack_arrays
from pytest_ansorbench.causes import last_line
from pytest_ansorbench.cuda import complaint
from pytest_ansorbench.measure.local.channel import Channel, answer, told
from pytest_ansorbench.measure.local.compiled import Compiled, CompiledKernel, CompiledNetwork
from pytest_ansorbench.measure.local.lowering import lowered, network_executable, object_files
from pytest_ansorbench.measure.local.places import Device, device_of
from pytest_ansorbench.measure.verification import computed, fault
from pytest_ansorbench.workloads.case import Surroundings

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.runtime import Executable, Module
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_Result = TypeVar("_Result")

_KINDS: Final[Mapping[str, Callable[[bytes, Target, Device], Compiled]]] = MappingProxyType(
    {
        "kernel": lambda payload, target, device: CompiledKernel(_module(payload), target, device),
        "network": lambda payload, target, device: CompiledNetwork(
            _module(payload), target, device
        ),
        "saved": CompiledKernel.of_saved,
        "saved-network": CompiledNetwork.of_saved,
    }
)
_FOR_LINKERS: Final[Mapping[str, Callable[[IRModule, Target], Module | Executable]]] = (
    MappingProxyType({"kernel": lowered, "network": network_executable})
)
_MOST_STOPS: Final = 3
"""So often what was stopped meanwhile is timed again."""
_OPERATIONS: Final = ("build", "object", "size", "arguments", "call", "time", "check", "outputs")


class WorkerMain:
    """Answers the requests about one program, in order: build, arguments, call or time, check."""

    _compiled: Compiled  # from `build` on

    def __init__(
        self, channel: Channel, check: Check | None, cores: Sequence[int], device: str
    ) -> None:
        self._channel = channel
        self._check = check
        self._device = device  # that kernels run on, by TVM's name; empty for this process
        self._cores = cores  # to pin a kernel's threads to, one each; empty for none
        self._called = False
        self._stops = 0

    def serve(self) -> None:
        signal.signal(signal.SIGCONT, self._note_stop)
        handlers = {name: getattr(self, name) for name in _OPERATIONS}
        answer(self._channel, handlers, _told if self._device else told)

    def build(
        self, kind: str, target: str, passes: dict[str, Any], payload: bytes
    ) -> dict[str, Any]:
        """Compile a program to machine code in this process's memory."""
        device = device_of(self._device)
        self._compiled = _within(passes, lambda: _KINDS[kind](payload, _target(target), device))
        return {}

    def object(
        self, kind: str, target: str, passes: dict[str, Any], payload: bytes
    ) -> dict[str, Any]:
        """Compile a program to object files, for whatever target; `payload` has them as arrays."""
        compile_ = _FOR_LINKERS[kind]
        compiled = _within(passes, lambda: compile_(_module(payload), _target(target)))
        # Nothing runs here that could write without end.
        _lift(resource.RLIMIT_FSIZE)
        return {"payload": pack_arrays(object_files(compiled))}

    def size(self) -> dict[str, Any]:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        _lift(resource.RLIMIT_FSIZE)
        try:
            return {"code_bytes": self._compiled.code_bytes()}
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    def arguments(
        self, shapes: list[tuple[str, list[int]]], surroundings: dict[str, Any] | None
    ) -> dict[str, Any]:
        around = None if surroundings is None else Surroundings(**surroundings)
        if self._device:
            # To use a device reserves addresses for all of its memory and more.
            _lift(resource.RLIMIT_AS)
        self._compiled.take(shapes, self._check, around)
        return {}

    def call(self) -> dict[str, Any]:
        """Call it once and time that: lazy parts, cold caches and all."""
        seconds = self._unstopped(self._compiled.call)
        self._settle()
        return {"seconds": seconds}

    def time(self, calls: int, samples: int, flush_mb: int) -> dict[str, Any]:
        if not self._called:
            self._compiled.call()
            self._settle()
        flush_bytes = flush_mb * 1_000_000
        seconds = self._unstopped(lambda: self._compiled.time(calls, samples, flush_bytes))
        self._settle()
        return {"seconds": seconds}

    def check(self) -> dict[str, Any]:
        """What is wrong with what it wrote; `wrong` is empty if nothing is."""
        return {"wrong": fault(self._compiled, self._check)}

    def outputs(self) -> dict[str, Any]:
        return computed(self._compiled, self._check)

    def _unstopped(self, timed: Callable[[], _Result]) -> _Result:
        """What was timed while this process was never stopped, which would count as the program's.

        Only a signal tells: a program may sleep, or wait for a core, for its own part.
        """
        for _ in range(_MOST_STOPS):
            stops = self._stops
            result = timed()
            if self._stops == stops:
                break
        return result

    def _note_stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1

    def _settle(self) -> None:
        """After a first call, when TVM's threads exist, give each a core of its own."""
        if not self._called:
            _place_threads(self._cores)
        self._called = True


def _told(error: Exception) -> dict[str, Any]:
    """The reply where messages of a compiler and a driver come with the whole program."""
    said = complaint(str(error)) or last_line(error)
    return {"error": f"{type(error).__name__}: {said}"}


def _lift(kind: int) -> None:
    """Lift the limit of a resource as far as this process may."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (hard, hard))


def _place_threads(cores: Sequence[int]) -> None:
    """Keep the calling thread, which is this one, off the cores of TVM's pool. On Linux.

    TVM binds each thread of its pool to a core, and leaves the calling thread, which does an equal
    share of the work, to the operating system. That sometimes puts it on the core of a pool's
    thread, and leaves it there for as long as the process lives: a kernel on two cores then takes
    twice its latency. With `cores`, each thread gets one of them, the calling thread first, from
    the start again if there are more threads.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    caller = os.getpid()
    pool = sorted({*map(int, os.listdir("/proc/self/task"))} - {caller})
    if cores:
        for place, thread in enumerate([caller, *pool]):
            os.sched_setaffinity(thread, {cores[place % len(cores)]})
        return
    bound = [os.sched_getaffinity(thread) for thread in pool]
    taken = {core for cores_of_one in bound if len(cores_of_one) == 1 for core in cores_of_one}
    left = os.sched_getaffinity(caller) - taken
    if taken and left:
        os.sched_setaffinity(caller, left)


def _module(payload: bytes) -> IRModule:
    from tvm.ir import load_json

    return load_json(payload.decode())


def _target(text: str) -> Target:
    from tvm.target import Target

    return Target(json.loads(text))


def _within(passes: Mapping[str, Any], compile_: Callable[[], _Result]) -> _Result:
    """Compile under options of TVM's `PassContext`."""
    import tvm

    with tvm.transform.PassContext(config=dict(passes)) if passes else nullcontext():
        return compile_()
