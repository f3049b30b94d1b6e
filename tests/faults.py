"""Kernels that do what no kernel should, for tests of what becomes of a search that meets one.

All take two float32 vectors of length N, an input and an output, like `Doubling`'s own program.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.workloads import Operator

N = 64


@dataclass(frozen=True, kw_only=True)
class Doubling(Operator):
    """A case so small that a trial costs next to nothing: every element times two."""

    id = "doubling"
    flops = N
    reduction_length = 1
    input_shapes = ((N,),)

    def expression(self, *inputs):
        from tvm import te

        return te.compute((N,), lambda i: inputs[0][i] * 2.0, name="doubled")

    def reference(self, *inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        return inputs[0] * np.float32(2.0)


def module(kind: str):
    """A kernel as an IRModule.

    Args:
        kind: `fine`; `slow`, which is right; or one that at run time does `crash`, `hang`,
            `trash` (write gigabytes past its output), `overrun` (write 32 bytes past it), `wrong`
            (write other numbers), `slow-and-wrong`, or `greedy` (allocate without end); or that
            does not compile, `unbuildable`; or does so for minutes and gigabytes,
            `endless-build`.
    """
    return _module_of(_function(kind))


def kernel(kind: str) -> Program:
    """A kernel as an engine takes it; see `module`."""
    return _taken(module(kind))


def program_of(function) -> Program:
    """A function of TVMScript as an engine takes it."""
    return _taken(_module_of(function))


def fickle(kind: str, path: Path) -> Program:
    """A kernel that is fine until there is a file: then it does `crash` or is `wrong`."""
    return program_of(FICKLE[kind](str(path)))


def counting(path: Path, *, sleep_us: int = 0) -> Program:
    """A kernel that is fine, and adds a byte to a file with each call.

    Args:
        path: The file, which has to be there.
        sleep_us: Microseconds that a call takes beside that.
    """
    return program_of(_counting(str(path), sleep_us))


def _module_of(function):
    from tvm import IRModule

    function = function.with_attr("global_symbol", "main")
    return IRModule({"main": function.with_attr("tirx.noalias", True)})


def _taken(mod):
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    return Program.kernel(mod, ArgInfo.from_prim_func(mod["main"]))


# Parsing TVMScript takes a fifth of a second a kernel: each is parsed when it is first asked for.


def _fine():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def fine(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            b[i] = a[i] * T.float32(2)

    return fine


def _wrong():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def wrong(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            b[i] = a[i] * T.float32(3)

    return wrong


def _slow():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def slow(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        T.evaluate(T.call_extern("int32", "usleep", 1000))
        for i in range(64):
            b[i] = a[i] * T.float32(2)

    return slow


def _slow_and_wrong():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def slow_and_wrong(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        T.evaluate(T.call_extern("int32", "usleep", 1000))
        b[0] = a[0] * T.float32(3)

    return slow_and_wrong


def _crash():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def crash(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        T.evaluate(T.call_extern("int32", "abort"))
        b[0] = a[0]

    return crash


def _trash():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def trash(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.serial(T.int64(4294967296)):
            b[i] = a[0]

    return trash


def _overrun():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def overrun(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(72):
            b[i] = a[i % 64] * T.float32(2)

    return overrun


def _greedy():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def greedy(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for _ in range(1000000):
            T.evaluate(
                T.call_extern(
                    "handle", "TVMBackendAllocWorkspace", 1, 0, T.uint64(100000000), 2, 32
                )
            )
        b[0] = a[0]

    return greedy


def _hang():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def hang(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        T.evaluate(T.call_extern("int32", "sleep", 3600))
        b[0] = a[0]

    return hang


def _unbuildable():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def unbuildable(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.thread_binding(64, "threadIdx.x"):  # a CPU has no such threads
            b[i] = a[i]

    return unbuildable


def _endless_build():
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def endless_build(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in T.unroll(20000000):
            b[i % 64] = b[(i * 7) % 64] * a[i % 64]

    return endless_build


def _fickle_crash(path: str):
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def crash(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        if T.call_extern("int32", "access", path, 0) == 0:
            T.evaluate(T.call_extern("int32", "abort"))
        for i in range(64):
            b[i] = a[i] * T.float32(2)

    return crash


def _fickle_wrong(path: str):
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def wrong(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        for i in range(64):
            b[i] = a[i] * T.float32(2)
        if T.call_extern("int32", "access", path, 0) == 0:
            b[0] = a[0] * T.float32(3)

    return wrong


FICKLE = {"crash": _fickle_crash, "wrong": _fickle_wrong}


def _counting(path: str, sleep_us: int):
    from tvm.script import tirx as T

    flags = os.O_WRONLY | os.O_APPEND

    @T.prim_func(s_tir=True)
    def counting(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
        file: T.int32 = T.call_extern("int32", "open", path, flags)
        T.evaluate(T.call_extern("int64", "write", file, path, T.int64(1)))
        T.evaluate(T.call_extern("int32", "close", file))
        T.evaluate(T.call_extern("int32", "usleep", sleep_us))
        for i in range(64):
            b[i] = a[i] * T.float32(2)

    return counting


KERNELS = {
    "fine": _fine,
    "wrong": _wrong,
    "slow": _slow,
    "slow-and-wrong": _slow_and_wrong,
    "crash": _crash,
    "trash": _trash,
    "overrun": _overrun,
    "greedy": _greedy,
    "hang": _hang,
    "unbuildable": _unbuildable,
    "endless-build": _endless_build,
}


@functools.cache
def _function(kind: str):
    return KERNELS[kind]()
