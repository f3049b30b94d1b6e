"""Programs as people write them by hand in TVMScript, with what is rarely met.

Parsing takes a fifth of a second: each is parsed when it is first asked for.
"""

from __future__ import annotations

import functools


@functools.cache
def scalar_argument():
    """Y = a * x, where a is a number and no tensor."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), a: T.float32, y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("scale"):
                vi = T.axis.spatial(8, i)
                y[vi] = a * x[vi]

    return main


@functools.cache
def vectors():
    """Elements are vectors of four numbers."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32x4"), y: T.Buffer((8,), "float32x4")):
        for i in range(8):
            with T.sblock("double"):
                vi = T.axis.spatial(8, i)
                y[vi] = x[vi] + x[vi]

    return main


@functools.cache
def symbolic_length():
    """N is known at run time only."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(px: T.handle, py: T.handle):
        n = T.int32()
        x = T.match_buffer(px, (n,), "float32")
        y = T.match_buffer(py, (n,), "float32")
        for i in range(n):
            with T.sblock("double"):
                vi = T.axis.spatial(n, i)
                y[vi] = x[vi] + x[vi]

    return main


@functools.cache
def adds_to_its_output():
    """Y += a @ b: the output is read before it is written."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(
        a: T.Buffer((8, 8), "float32"),
        b: T.Buffer((8, 8), "float32"),
        y: T.Buffer((8, 8), "float32"),
    ):
        for i, j, k in T.grid(8, 8, 8):
            with T.sblock("accumulate"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                y[vi, vj] = y[vi, vj] + a[vi, vk] * b[vk, vj]

    return main


@functools.cache
def reads_its_output_first():
    """The first statement reads the output into another one."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(
        a: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32"), z: T.Buffer((8,), "float32")
    ):
        for i in range(8):
            with T.sblock("old"):
                vi = T.axis.spatial(8, i)
                z[vi] = y[vi]
        for i in range(8):
            with T.sblock("new"):
                vi = T.axis.spatial(8, i)
                y[vi] = a[vi]

    return main


@functools.cache
def doubles_its_input():
    """The input is written, and so is the output behind it."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("double"):
                vi = T.axis.spatial(8, i)
                x[vi] = x[vi] * T.float32(2)
                y[vi] = x[vi]

    return main


@functools.cache
def ragged_rows():
    """Sums of rows that lie one behind the other, from where to where another argument says."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(
        starts: T.Buffer((5,), "int32"), x: T.Buffer((16,), "float32"), y: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            with T.sblock("row"):
                vi = T.axis.spatial(4, i)
                for j in range(starts[vi + 1] - starts[vi]):
                    with T.sblock("sum"):
                        vj = T.axis.reduce(starts[vi + 1] - starts[vi], j)
                        with T.init():
                            y[vi] = T.float32(0)
                        y[vi] = y[vi] + x[starts[vi] + vj]

    return main


@functools.cache
def nothing_to_do():
    """A body without a block."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(a: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        T.evaluate(0)

    return main


@functools.cache
def loops_alone():
    """It computes something, but in no block."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            y[i] = x[i] * T.float32(2)

    return main


@functools.cache
def two_outputs():
    """Sum and difference."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(
        a: T.Buffer((8, 8), "float32"),
        s: T.Buffer((8, 8), "float32"),
        d: T.Buffer((8, 8), "float32"),
    ):
        for i, j in T.grid(8, 8):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SS", [i, j])
                s[vi, vj] = a[vi, vj] + T.float32(1)
        for i, j in T.grid(8, 8):
            with T.sblock("difference"):
                vi, vj = T.axis.remap("SS", [i, j])
                d[vi, vj] = a[vi, vj] - T.float32(1)

    return main


@functools.cache
def in_place_at_last():
    """The output is read, once it is written."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("copy"):
                vi = T.axis.spatial(8, i)
                y[vi] = x[vi]
        for i in range(8):
            with T.sblock("double"):
                vi = T.axis.spatial(8, i)
                y[vi] = y[vi] * T.float32(2)

    return main


@functools.cache
def running_sum():
    """An element of the output is read to write the next one, but for the first."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("sum"):
                vi = T.axis.opaque(8, i)
                y[vi] = T.if_then_else(vi == 0, x[0], y[vi - 1] + x[vi])

    return main


@functools.cache
def through_a_view():
    """What is written is a view of the output."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), y: T.Buffer((2, 4), "float32")):
        flat = T.decl_buffer((8,), "float32", data=y.data)
        for i in range(8):
            with T.sblock("double"):
                vi = T.axis.spatial(8, i)
                flat[vi] = x[vi] * T.float32(2)

    return main


@functools.cache
def foreign_code():
    """Only its block says what it writes."""
    from tvm.script import tirx as T

    @T.prim_func(s_tir=True)
    def main(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
        with T.sblock("foreign"):
            T.reads(x[0:8])
            T.writes(y[0:8])
            T.evaluate(T.call_extern("int32", "made_up", x.data, y.data))

    return main
