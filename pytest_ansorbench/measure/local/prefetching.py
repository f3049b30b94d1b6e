"""Weights fetched into the caches while the tile of a sum before theirs is computed.

Within a network a kernel's weights come from memory, and a tile that waits for them computes
nothing. Where a tile of weights is met again, for other rows of the output, each meeting fetches
its share of the next tile before it computes: all of it at once would fill the queue that loads
wait in, and between the terms of a sum a prefetch keeps LLVM from having the sum in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pytest_ansorbench.workloads.case import PREFETCH
from pytest_ansorbench.workloads.signature import (
    REDUCTION,
    buffer_of,
    buffers_of,
    nodes,
    same_buffer,
)

if TYPE_CHECKING:
    from tvm.ir.transform import Pass
    from tvm.tirx import PrimFunc

_LINE: Final = 64
"""Bytes of a cache line."""
_FEWEST_MEETINGS: Final = 2
"""Of a tile; below, there would be a prefetch for every few multiplications."""
_MOST_LINES: Final = 32
"""Fetched at once: about as many misses as a core has under way."""
_READ, _CLOSEST, _DATA = 0, 3, 1
"""What is fetched will be read, is to be in all caches, and is no code: arguments of LLVM's."""


def prefetches() -> Pass:
    """A pass by which blocks with the annotation `PREFETCH` fetch ahead what they read last.

    That has to be an argument of the function. A schedule stays as it is unless its loops are, from
    the outside: one over tiles of a sum's terms, one over rows that share a tile, those over a
    tile.
    """
    from tvm.tirx.transform import prim_func_pass

    @prim_func_pass(opt_level=0)  # type: ignore[untyped-decorator]
    def fetch_ahead(function: PrimFunc, *_: Any) -> PrimFunc:
        for path in [*_paths(function.body, ())]:
            function = _fetching(function, path)
        return function

    return fetch_ahead


def _paths(statement: Any, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The statements that lead to each annotated block that sums up, itself the last."""
    kind = type(statement).__name__
    path = (*above, statement)
    if kind == "SBlockRealize":
        block = statement.block
        if PREFETCH in block.annotations and any(map(_is_sum, block.iter_vars)):
            yield path
        else:
            yield from _paths(block.body, path)
    elif kind == "For":
        yield from _paths(statement.body, path)
    elif kind == "SeqStmt":
        for part in statement.seq:
            yield from _paths(part, path)


def _fetching(function: PrimFunc, path: Sequence[Any]) -> PrimFunc:
    """The function with prefetches for the block that a path leads to."""
    from tvm.tirx import SeqStmt

    nest = _Nest.along(path)
    if nest is None or not any(
        buffer is not None and same_buffer(nest.weights, buffer)
        for _, buffer in buffers_of(function)
    ):
        return function
    at = next(place for place, one in enumerate(path) if one.same_as(nest.inner))
    return function.with_body(_replaced(path[: at + 1], SeqStmt([nest.fetch(), nest.inner])))


@dataclass(frozen=True, eq=False)
class _Nest:
    """The loops around a block that sums up products with weights."""

    weights: Any
    indices: Sequence[Any]  # of what it reads of them, by the variables of the loops
    step: Any  # loop from tile to tile
    within: Sequence[Any]  # loops within it, up to the next
    inner: Any  # loop that computes a part of the output
    tile: Sequence[Any]  # loops over a tile, the last of them over neighbours in memory

    @classmethod
    def along(cls, path: Sequence[Any]) -> _Nest | None:
        """The nest on a path to a block; None if it has another form."""
        from tvm.tirx import IndexMap

        realize = path[-1]
        block, read = realize.block, realize.block.reads[-1]
        loops = [one for one in path if type(one).__name__ == "For"]
        if None in map(_steps, loops) or any(_steps(one) != 1 for one in read.region):
            return None
        axes, values = block.iter_vars, [*realize.iter_values]
        of_axes = IndexMap([axis.var for axis in axes], [one.min for one in read.region], None)
        indices = _at([*of_axes.map_indices(values)], {one: 0 for one in loops if _steps(one) == 1})
        loops = [one for one in loops if _steps(one) != 1]
        begin = _at(indices, dict.fromkeys(loops, 0))
        moves = {
            loop: [
                int(there) - int(here)
                for there, here in zip(
                    _at(indices, {**dict.fromkeys(loops, 0), loop: 1}), begin, strict=True
                )
            ]
            for loop in loops
        }
        moving = [any(moves[loop]) for loop in loops]
        terms = [value for axis, value in zip(axes, values, strict=True) if _is_sum(axis)]
        sums = [place for place, loop in enumerate(loops) if _is_in(loop, terms)]
        first = next((place for place in reversed(sums) if place - 1 not in sums), 0)
        for step in reversed(range(first)):
            within = loops[step + 1 : first]
            again = [loop for place, loop in enumerate(within, step + 1) if not moving[place]]
            if moving[step] and _product(again) >= _FEWEST_MEETINGS:
                break
        else:
            return None
        tile = [loop for place, loop in enumerate(loops) if place > step and moving[place]]
        if not tile or moves[tile[-1]] != [0] * (len(indices) - 1) + [1]:
            return None
        nest = cls(buffer_of(read), indices, loops[step], within, loops[first], tile)
        return nest if nest.share * nest.lines <= _MOST_LINES else None

    @property
    def in_line(self) -> int:
        """Elements of a cache line."""
        return _LINE // np.dtype(str(self.weights.dtype)).itemsize

    @property
    def lines(self) -> int:
        """Of a row of a tile."""
        return -(-int(self.tile[-1].extent) // self.in_line)

    @property
    def share(self) -> int:
        """Rows that a part of the output fetches."""
        return -(-_product(self.tile[:-1]) // _product(self.within))

    def fetch(self) -> Any:
        """The statement by which a part fetches its share of the next tile."""
        from tvm.tirx import BufferLoad, Evaluate, For, ForKind, Var, address_of, call_intrin

        *rows, columns = self.tile
        row, line = Var("row", "int64"), Var("line", "int64")
        place: Any = 0
        for loop in self.within:
            place = place * _steps(loop) + loop.loop_var
        place = place * self.share + row
        there = {self.step: self.step.loop_var + 1, columns: line * self.in_line}
        for loop in reversed(rows[1:]):
            there[loop] = place % _steps(loop)
            place = place // _steps(loop)
        if rows:
            there[rows[0]] = place
        address = address_of(BufferLoad(self.weights, _at(self.indices, there)))
        fetch = call_intrin("void", "tirx.prefetch", address, _READ, _CLOSEST, _DATA)
        of_row = For(line, 0, self.lines, ForKind.UNROLLED, Evaluate(fetch))
        return For(row, 0, self.share, ForKind.SERIAL, of_row)


def _replaced(path: Sequence[Any], new: Any) -> Any:
    """The first statement of a path, with something else in the place of the last one."""
    from tvm.s_tir import SBlock, SBlockRealize
    from tvm.tirx import For, SeqStmt

    for old, above in pairwise(reversed(path)):
        kind = type(above).__name__
        if kind == "For":
            loop = (above.loop_var, above.min, above.extent, above.kind)
            new = For(*loop, new, above.thread_binding, above.annotations)
        elif kind == "SeqStmt":
            new = SeqStmt([new if part.same_as(old) else part for part in above.seq])
        else:
            block = above.block
            new = SBlockRealize(
                above.iter_values,
                above.predicate,
                SBlock(
                    *(block.iter_vars, block.reads, block.writes, block.name_hint, new),
                    *(block.init, block.alloc_buffers, block.match_buffers, block.annotations),
                ),
            )
    return new


def _is_sum(axis: Any) -> bool:
    return int(axis.iter_type) == REDUCTION


def _steps(one: Any) -> int | None:
    """The extent of a loop or a range, if it is known."""
    return getattr(one.extent, "value", None)


def _product(loops: Sequence[Any]) -> int:
    return prod(int(loop.extent) for loop in loops)


def _at(indices: Sequence[Any], there: Mapping[Any, Any]) -> list[Any]:
    """Indices by the variables of loops, where some of the loops are."""
    from tvm.tirx import IndexMap, IntImm

    places = [IntImm("int64", one) if isinstance(one, int) else one for one in there.values()]
    return [*IndexMap([loop.loop_var for loop in there], indices, None).map_indices(places)]


def _is_in(loop: Any, values: Sequence[Any]) -> bool:
    """Whether some values depend on where a loop is."""
    return any(node.same_as(loop.loop_var) for value in values for node in nodes(value))
