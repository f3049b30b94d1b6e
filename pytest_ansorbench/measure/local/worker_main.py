"""A worker process from the inside: compiles one program, times it, checks what it wrote.

A request is a message on the child's channel; each gets one message in reply. A fault that
leaves the process alive is a reply with `error`; one that does not is seen by the parent. The
end of the channel ends the child.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_ansorbench.measure.check import mismatch
from pytest_ansorbench.measure.local.answering import answer
from pytest_ansorbench.measure.local.channel import Channel
from pytest_ansorbench.measure.local.compiled import (
    Compiled,
    CompiledKernel,
    CompiledNetwork,
    object_file,
)
from pytest_ansorbench.measure.local.placement import place_threads
from pytest_ansorbench.workloads.case import Surroundings

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_Result = TypeVar("_Result")

_KINDS: Final[Mapping[str, Callable[[bytes, Target], Compiled]]] = MappingProxyType(
    {
        "kernel": CompiledKernel.of_module,
        "network": CompiledNetwork.of_module,
        "saved": CompiledKernel.of_saved,
    }
)


class WorkerMain:
    """Answers the requests about one program, in order: build, arguments, call or time, check."""

    def __init__(self, channel: Channel, check: Check | None, cores: Sequence[int]) -> None:
        """Prepare to serve.

        Args:
            channel: Where requests come from.
            check: Inputs and expected output, if known.
            cores: Cores to pin a kernel's threads to, one each; empty for none.
        """
        self._channel = channel
        self._check = check
        self._cores = cores
        self._compiled: Compiled | None = None
        self._called = False
        self._handlers: dict[str, Callable[..., dict[str, Any]]] = {
            "build": self.build,
            "object": self.object,
            "size": self.size,
            "arguments": self.arguments,
            "call": self.call,
            "time": self.time,
            "check": self.check,
            "output": self.output,
        }

    def serve(self) -> None:
        """Answer until the channel ends."""
        answer(self._channel, self._handlers)

    def build(
        self, kind: str, target: str, passes: dict[str, Any], payload: bytes
    ) -> dict[str, Any]:
        """Compile a program to machine code in this process's memory.

        Args:
            kind: What the payload is: TVM's JSON of a module, or a kernel that was saved.
            target: What to compile for, as JSON.
            passes: Options of TVM's `PassContext`.
            payload: The program.
        """
        self._compiled = _within(passes, lambda: _KINDS[kind](payload, _target(target)))
        return {}

    def object(
        self, kind: str, target: str, passes: dict[str, Any], payload: bytes
    ) -> dict[str, Any]:
        """Compile a kernel to an object file, for whatever target; `payload` is the file.

        Args:
            kind: `kernel`, the only one that can be.
            target: What to compile for, as JSON.
            passes: Options of TVM's `PassContext`.
            payload: The program.
        """
        if kind != "kernel":
            raise ValueError(f"a {kind} cannot be compiled to an object file")
        return {"payload": _within(passes, lambda: object_file(payload, _target(target)))}

    def size(self) -> dict[str, Any]:
        """Bytes of its object file; None if it has none."""
        return {"code_bytes": self._ready().code_bytes()}

    def arguments(
        self, shapes: list[tuple[str, list[int]]], surroundings: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Make the arguments.

        Args:
            shapes: Their data types and shapes.
            surroundings: Fields of the `Surroundings` that timed calls are to have; None for none.
        """
        around = None if surroundings is None else Surroundings(**surroundings)
        self._ready().take(shapes, self._check, around)
        return {}

    def call(self) -> dict[str, Any]:
        """Call it once and time that: lazy parts, cold caches and all."""
        seconds = self._ready().call()
        self._settle()
        return {"seconds": seconds}

    def time(self, calls: int, samples: int, flush_mb: int) -> dict[str, Any]:
        """Time it with TVM's own evaluator, after one call that does not count.

        Args:
            calls: Calls a sample.
            samples: Samples.
            flush_mb: Size of what is copied before each sample to empty the caches; 0 for none.

        Returns:
            Mean seconds per call, one entry a sample.
        """
        compiled = self._ready()
        if not self._called and self._cores:
            compiled.call()
            self._settle()
        seconds = compiled.time(calls, samples, flush_mb * 1_000_000)
        self._settle()
        return {"seconds": seconds}

    def check(self) -> dict[str, Any]:
        """Compare what it wrote with the reference; `wrong` is empty if it agrees."""
        compiled = self._ready()
        wrong = compiled.damage()
        if not wrong and self._check is not None:
            wrong = mismatch(compiled.output(), self._check)
        return {"wrong": wrong}

    def output(self) -> dict[str, Any]:
        """What it wrote, as raw bytes."""
        array = self._ready().output()
        return {"dtype": str(array.dtype), "shape": array.shape, "payload": array.tobytes()}

    def _ready(self) -> Compiled:
        assert self._compiled is not None
        return self._compiled

    def _settle(self) -> None:
        """After a first call, when TVM's threads exist, give each a core of its own."""
        if not self._called:
            place_threads(self._cores)
        self._called = True


def _target(text: str) -> Target:
    from tvm.target import Target

    return Target(json.loads(text))


def _within(passes: Mapping[str, Any], compile_: Callable[[], _Result]) -> _Result:
    """Compile under options of TVM's `PassContext`."""
    import tvm

    with tvm.transform.PassContext(config=dict(passes)) if passes else nullcontext():
        return compile_()
