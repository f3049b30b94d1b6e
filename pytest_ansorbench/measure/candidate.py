"""A forked child at work: compiles one candidate, times it, checks what it wrote.

A request is a message on the child's channel; each gets one message in reply. A fault that
leaves the process alive is a reply with `error`; one that does not is seen by the parent. The
end of the channel ends the child.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.measure.arguments import Arguments
from pytest_ansorbench.measure.channel import Channel, ChannelClosed
from pytest_ansorbench.measure.check import mismatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tvm import IRModule
    from tvm.runtime import Module
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check

_ENTRY: Final = "main"


class Candidate:
    """Answers the requests to one candidate, in order: build, arguments, call or time, check."""

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
        self._kernel: Module | None = None
        self._arguments: Arguments | None = None
        self._called = False
        self._handlers: dict[str, Callable[..., dict[str, Any]]] = {
            "build": self.build,
            "arguments": self.arguments,
            "call": self.call,
            "time": self.time,
            "check": self.check,
        }

    def serve(self) -> None:
        """Answer until the channel ends."""
        while True:
            try:
                message, payload = self._channel.receive()
            except ChannelClosed:
                return
            handler = self._handlers[message.pop("op")]
            if payload:
                message["payload"] = payload
            try:
                reply = handler(**message)
            except Exception as error:  # whatever a candidate provokes is a failed trial
                reply = {"error": f"{type(error).__name__}: {first_line(error)}"}
            self._channel.send(reply)

    def build(self, target: str, payload: bytes) -> dict[str, Any]:
        """Compile a module, given as TVM's JSON, to machine code in this process's memory."""
        import tvm
        from tvm.target import Target

        module = tvm.ir.load_json(payload.decode())
        self._kernel = compile_module(module, Target(json.loads(target)))
        return {}

    def arguments(self, shapes: list[tuple[str, list[int]]]) -> dict[str, Any]:
        """Make the kernel's arguments, given as data types and shapes."""
        self._arguments = Arguments(shapes, self._check)
        return {}

    def call(self) -> dict[str, Any]:
        """Call the kernel once and time that: lazy parts, cold caches and all."""
        kernel, tensors = self._ready()
        seconds = first_run(kernel, tensors)
        self._settle()
        return {"seconds": seconds}

    def time(self, calls: int, samples: int, flush_mb: int) -> dict[str, Any]:
        """Time the kernel with TVM's own evaluator, after one call that does not count.

        Args:
            calls: Calls a sample.
            samples: Samples.
            flush_mb: Size of what is copied before each sample to empty the caches; 0 for none.

        Returns:
            Mean seconds per call, one entry a sample.
        """
        kernel, tensors = self._ready()
        if not self._called and self._cores:
            first_run(kernel, tensors)
        self._settle()
        flush_bytes = flush_mb * 1_000_000
        return {"seconds": evaluate(kernel, tensors, calls, samples, flush_bytes=flush_bytes)}

    def check(self) -> dict[str, Any]:
        """Compare what the kernel wrote with the reference; `wrong` is empty if it agrees."""
        assert self._arguments is not None
        wrong = self._arguments.damage()
        if not wrong and self._check is not None:
            wrong = mismatch(self._arguments.output, self._check)
        return {"wrong": wrong}

    def _ready(self) -> tuple[Module, Sequence[NDArray[np.generic]]]:
        assert self._kernel is not None
        assert self._arguments is not None
        return self._kernel, self._arguments.arrays

    def _settle(self) -> None:
        """After a first call, when TVM's threads exist, give each a core of its own."""
        if not self._called and self._cores:
            for place, thread in enumerate(sorted(map(int, os.listdir("/proc/self/task")))):
                os.sched_setaffinity(thread, {self._cores[place % len(self._cores)]})
        self._called = True


def compile_module(mod: IRModule, target: Target) -> Module:
    """Compile a module in memory, all the way to machine code.

    Does what MetaSchedule's `default_build` does, less the import of all tensor intrinsics: a
    tensorized schedule carries the intrinsic's body already.
    """
    from tvm.driver import build
    from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock

    kernel = build(RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod), target=target)
    # Machine code is made when a function is first looked up.
    kernel[_ENTRY]
    return kernel


def first_run(kernel: Module, arrays: Sequence[NDArray[np.generic]]) -> float:
    """Call a kernel once; seconds it took."""
    from tvm.runtime import from_dlpack

    function, tensors = kernel[_ENTRY], [from_dlpack(array) for array in arrays]
    started = time.perf_counter()
    function(*tensors)
    return time.perf_counter() - started


def evaluate(
    kernel: Module,
    arrays: Sequence[NDArray[np.generic]],
    number: int,
    repeat: int,
    *,
    flush_bytes: int,
) -> list[float]:
    """TVM's time evaluator: one call, then `repeat` times the mean of `number` calls.

    The Python around it (`Module.time_evaluator`) is left out, since it also computes a
    summary with NumPy, which takes longer than many a kernel.
    """
    import tvm
    from tvm.runtime import from_dlpack

    device = tvm.cpu()
    evaluator = tvm.get_global_func("runtime.RPCTimeEvaluator")(
        kernel, _ENTRY, device.dlpack_device_type(), device.index,
        number, repeat, 0, 1, 0, 1, flush_bytes, "",
    )  # fmt: skip
    blob = evaluator(*(from_dlpack(array) for array in arrays))
    return list(struct.unpack(f"@{repeat}d", blob))


def first_line(error: Exception) -> str:
    """The line of an error message that says what happened, 300 characters at most."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    # TVM puts its stack trace first and the message last.
    return lines[-1].strip()[:300] if lines else ""
