"""Leaves the caches as the calls before it would in a network.

In a network a call finds the caches as the others left them: its weights were last read an
inference ago, and as much memory as an inference touches has passed through the caches since; its
other inputs have just been written, and by all cores. So, before each call that is timed, all
cores together read memory, then write to these inputs, which keep their values. The output is left
alone: in a network its memory held other activations, some calls ago, and is cold.

A last-level cache keeps what was used again over what streams by once (Jaleel et al. 2010,
https://doi.org/10.1145/1815961.1815971). So memory is read as kernels read theirs, each piece
twice while a level-2 cache has it, and twice as much of it as an inference touches: read once,
50 MB left the 5 MB of a convolution's weights where they were, in a cache of 32 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.measure.arguments import aligned, in_ordinary_pages
from pytest_ansorbench.workloads.case import Surroundings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tvm import IRModule

MOST_BYTES: Final = 128_000_000
"""What is read before a call at most, four times a last-level cache of 32 MB."""
_TIMES: Final = 2
"""Bytes that are read for each that an inference touches."""
_NAME: Final = "pytest_ansorbench.predecessors"
_PIECE: Final = 512 * 1024
"""Bytes of memory that are read twice in a row; they fit a level-2 cache, as tiles do."""
_LINE: Final = 64
"""Bytes of a cache line; to read one byte is to read the line."""


class Predecessors:
    """What runs before a call, on the threads of TVM's own pool, which so stay awake."""

    def __init__(self, inputs: Sequence[NDArray[Any]], surroundings: Surroundings) -> None:
        """Divide memory among threads."""
        import tvm
        from tvm.runtime import from_dlpack

        threads = int(tvm.get_global_func("runtime.NumThreads")())
        size = min(_TIMES * surroundings.touched_bytes, MOST_BYTES)
        self._other = [from_dlpack(pieces) for pieces in _pieces(_memory()[:size], threads)]
        self._sums = from_dlpack(aligned(np.zeros((threads, _LINE), np.uint8)))
        self._nothing = from_dlpack(aligned(np.zeros(1, np.uint8)))
        self._just_written = [
            from_dlpack(lines)
            for index, array in enumerate(inputs)
            if index not in surroundings.given
            for lines in _shares(array, threads)
        ]

    def __call__(self, *_: object) -> None:
        # TVM hands over the kernel's own arguments.
        read, write = compiled()
        for pieces in self._other:
            read(pieces, self._sums)
        for lines in self._just_written:
            write(lines, self._nothing)

    def registered(self) -> str:
        """Make it known to TVM, in place of any other of its kind; its name there."""
        from tvm_ffi import register_global_func

        register_global_func(_NAME, self, override=True)
        return _NAME


def prepare() -> None:
    """Compile and allocate what all forks of this process will need."""
    compiled()
    _memory()


@cache
def _memory() -> NDArray[np.uint8]:
    """What is read, at least as much as may be."""
    # Ordinary pages, so that what is read takes the place of address translations as well.
    memory = in_ordinary_pages(MOST_BYTES)
    # Written once: the system maps memory that was never written to one and the same page.
    memory.fill(1)
    return memory


@cache
def compiled() -> tuple[Any, Any]:
    """The functions that read memory and write to it."""
    import tvm
    from tvm.driver import build

    module = build(_functions(), target=tvm.target.Target("llvm"))
    return module["read"], module["write"]


def _functions() -> IRModule:
    """Two functions of TensorIR, with a parallel loop over the shares of some cache lines.

    `read(memory, sums)` adds up the first bytes of all lines in `memory[share, piece, line, byte]`,
    of each piece twice before the next.
    `write(memory, nothing)` sets the bits of `nothing[0]` in these bytes; it has none, but the
    compiler cannot know that.
    """
    from tvm.script import ir as I
    from tvm.script import tirx as T

    @I.ir_module
    class Functions:
        @T.prim_func  # type: ignore[untyped-decorator]
        def read(memory: T.handle, sums: T.handle) -> None:
            shares, pieces, lines = T.int64(), T.int64(), T.int64()
            bytes_ = T.match_buffer(memory, (shares, pieces, lines, 64), "uint8")
            sum_ = T.match_buffer(sums, (shares, 64), "uint8")
            for share in T.parallel(shares):
                for piece in range(pieces):
                    for _ in range(2):
                        for line in range(lines):
                            sum_[share, 0] = sum_[share, 0] + bytes_[share, piece, line, 0]

        @T.prim_func  # type: ignore[untyped-decorator]
        def write(memory: T.handle, nothing: T.handle) -> None:
            shares, lines = T.int64(), T.int64()
            bytes_ = T.match_buffer(memory, (shares, lines, 64), "uint8")
            bits = T.match_buffer(nothing, (1,), "uint8")
            for share in T.parallel(shares):
                for line in range(lines):
                    bytes_[share, line, 0] = bytes_[share, line, 0] | bits[0]

    return Functions


def _pieces(memory: NDArray[np.uint8], threads: int) -> list[NDArray[np.uint8]]:
    """Memory in pieces of `_PIECE` bytes, as many for each thread, and what is left over."""
    whole = memory.size // (threads * _PIECE) * threads * _PIECE
    pieces = memory[:whole].reshape(threads, -1, _PIECE // _LINE, _LINE)
    rest = [share[:, np.newaxis] for share in _shares(memory[whole:], threads)]
    return [pieces, *rest] if whole else rest


def _shares(array: NDArray[Any], threads: int) -> list[NDArray[np.uint8]]:
    """The cache lines of an array, as many for each thread; a rest of them is left out."""
    memory = aligned(array).reshape(-1).view(np.uint8)
    lines = memory.size // _LINE // threads
    return [memory[: threads * lines * _LINE].reshape(threads, lines, _LINE)] if lines else []
