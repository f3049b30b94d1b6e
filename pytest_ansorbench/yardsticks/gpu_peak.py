"""Programs that ask a GPU for the most: multiply-adds from registers, and reading."""

from __future__ import annotations

from typing import Final

from pytest_ansorbench.measure.program import Program

THREADS: Final = 1024
"""Of a block that computes."""
BLOCKS: Final = 2
READING_BLOCKS: Final = 16
"""Blocks of each kind that have all the threads which a multiprocessor runs at a time, 2,048."""
CHAINS: Final = 12
"""Sums that do not wait for each other: two a cycle, four cycles each, and some to spare."""
ROW: Final = 128
"""Floats that are read at a time, into as many sums: by a core, or by the threads of a block."""


def multiply_adds(blocks: int, steps: int) -> Program:
    """Each thread halves 12 registers and adds to them, `steps` times."""
    from tvm.script import ir as I
    from tvm.script import tirx as T

    @I.ir_module
    class Module:
        @T.prim_func  # type: ignore[untyped-decorator]
        def main(given: T.handle, written: T.handle) -> None:
            addend = T.match_buffer(given, (CHAINS,), "float32")
            folded = T.match_buffer(written, (blocks, THREADS, CHAINS), "float32")
            for block in T.thread_binding(blocks, "blockIdx.x"):
                for thread in T.thread_binding(THREADS, "threadIdx.x"):
                    more = T.alloc_local((CHAINS,), "float32")
                    total = T.alloc_local((CHAINS,), "float32")
                    for chain in T.unroll(CHAINS):
                        more[chain] = addend[chain]
                        total[chain] = T.float32(0)
                    for _ in range(steps):
                        for chain in T.unroll(CHAINS):
                            total[chain] = total[chain] * T.float32(0.5) + more[chain]
                    for chain in T.unroll(CHAINS):
                        folded[block, thread, chain] = total[chain]

    return Program.operator(Module)


def reads(blocks: int, rows: int, times: int) -> Program:
    """The 128 threads of a block add up rows of 128 floats, each of `times` times another block's.

    So nothing is read again from a register or a multiprocessor's own cache.
    """
    from tvm.script import ir as I
    from tvm.script import tirx as T

    @I.ir_module
    class Module:
        @T.prim_func  # type: ignore[untyped-decorator]
        def main(given: T.handle, written: T.handle) -> None:
            data = T.match_buffer(given, (blocks, rows, ROW), "float32")
            sums = T.match_buffer(written, (blocks, ROW), "float32")
            for block in T.thread_binding(blocks, "blockIdx.x"):
                for lane in T.thread_binding(ROW, "threadIdx.x"):
                    total = T.alloc_local((1,), "float32")
                    total[0] = T.float32(0)
                    for again in range(times):
                        for row in range(rows):
                            total[0] = total[0] + data[(block + again) % blocks, row, lane]
                    sums[block, lane] = total[0]

    return Program.operator(Module)
