"""Weights fetched into the caches while the tile before theirs is computed.

Within a network a kernel's weights come from memory, and a tile that waits for them computes
nothing. Where a tile of weights is used again, for other rows of the output, these uses fetch the
next tile, share by share: all of it at once would fill the queue that loads wait in. No share is
fetched between two terms that LLVM should sum up in registers, which it does not across a prefetch.
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
_FEWEST_USES: Final = 2
"""Of a tile; below, there would be a prefetch for every few multiplications."""
_MOST_LINES: Final = 32
"""Fetched at once: about as many misses as a core has under way."""
_FEWEST_TERMS: Final = 16
"""Summed up between prefetches, for which sums leave their registers."""
_READ, _CLOSEST, _DATA = 0, 3, 1
"""What is fetched will be read, is to be in all caches, and is no code: arguments of LLVM's."""


def prefetches() -> Pass:
    """A pass by which blocks with the annotation `PREFETCH` fetch ahead what they read last.

    That has to be an argument of the function. A function stays as it is unless its loops are, from
    the outside: one from tile to tile, one that uses a tile again, those over the terms of a sum.
    """
    from tvm.tirx.transform import prim_func_pass

    @prim_func_pass(opt_level=0)  # type: ignore[untyped-decorator]
    def fetch_ahead(function: PrimFunc, *_: Any) -> PrimFunc:
        for place in range(len([*_paths(function.body, ())])):
            # Anew: the one before has changed what leads to this one.
            function = _fetching(function, [*_paths(function.body, ())][place])
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
class _Loop:
    """A loop around a block, of two steps or more."""

    node: Any
    shift: Sequence[int]  # by its first step, of the indices of what the block reads
    sums: bool  # whether it is over the terms of a sum

    @property
    def variable(self) -> Any:
        return self.node.loop_var

    @property
    def steps(self) -> int:
        return int(self.node.extent)


@dataclass(frozen=True, eq=False)
class _Nest:
    """The loops around a block that sums up products with weights."""

    weights: Any
    indices: Sequence[Any]  # of what it reads of them, by the variables of the loops
    step: _Loop  # from tile to tile
    within: Sequence[_Loop]  # one of its steps, down to sums
    inner: Any  # the loop that computes sums
    tile: Sequence[_Loop]  # loops over a tile, the last of them over neighbours in memory

    @classmethod
    def along(cls, path: Sequence[Any]) -> _Nest | None:
        """The nest on a path to a block; None if it has another form."""
        read = path[-1].block.reads[-1]
        around = [one for one in path if type(one).__name__ == "For"]
        if None in map(_extent, around) or any(_extent(one) != 1 for one in read.region):
            return None
        indices, loops = _loops(path[-1], around)
        first = _first_of_sums(loops)
        step = next(
            (
                place
                for place in reversed(range(first))
                if any(loops[place].shift) and _uses(loops[place + 1 : first]) >= _FEWEST_USES
            ),
            None,
        )
        if step is None:
            return None
        tile = [loop for loop in loops[step + 1 :] if any(loop.shift)]
        if not tile or tile[-1].shift != [0] * (len(indices) - 1) + [1]:
            return None
        within, inner = loops[step + 1 : first], loops[first].node
        nest = cls(buffer_of(read), indices, loops[step], within, inner, tile)
        return nest if nest.rows * nest.lines <= _MOST_LINES else None

    @property
    def rows(self) -> int:
        """Of the next tile, that each pass through `inner` fetches."""
        return -(-_product(self.tile[:-1]) // _product(self.within))

    @property
    def lines(self) -> int:
        """Cache lines of a row."""
        return -(-self.tile[-1].steps // self.in_line)

    @property
    def in_line(self) -> int:
        """Elements of a cache line."""
        return _LINE // np.dtype(str(self.weights.dtype)).itemsize

    def fetch(self) -> Any:
        """The statement that fetches a share of the next tile."""
        from tvm.tirx import BufferLoad, Evaluate, For, ForKind, Var, address_of, call_intrin

        *over_rows, over_columns = self.tile
        row, line = Var("row", "int64"), Var("line", "int64")
        place: Any = 0
        for loop in self.within:
            place = place * loop.steps + loop.variable
        place = place * self.rows + row
        there = {self.step.node: self.step.variable + 1, over_columns.node: line * self.in_line}
        for loop in reversed(over_rows[1:]):
            there[loop.node] = place % loop.steps
            place = place // loop.steps
        if over_rows:
            there[over_rows[0].node] = place
        address = address_of(BufferLoad(self.weights, _at(self.indices, there)))
        fetch = call_intrin("void", "tirx.prefetch", address, _READ, _CLOSEST, _DATA)
        of_row = For(line, 0, self.lines, ForKind.UNROLLED, Evaluate(fetch))
        return For(row, 0, self.rows, ForKind.SERIAL, of_row)


def _loops(realize: Any, found: Sequence[Any]) -> tuple[list[Any], list[_Loop]]:
    """The indices of what a block reads last, by the loops around it, and these loops.

    Loops of one step are left out, of both.
    """
    from tvm.tirx import IndexMap

    axes, values = realize.block.iter_vars, [*realize.iter_values]
    region = realize.block.reads[-1].region
    by_axes = IndexMap([axis.var for axis in axes], [one.min for one in region], None)
    single = {loop: 0 for loop in found if _extent(loop) == 1}
    indices = _at([*by_axes.map_indices(values)], single)
    terms = [value for axis, value in zip(axes, values, strict=True) if _is_sum(axis)]
    begin = {loop: 0 for loop in found if loop not in single}
    here = [*map(int, _at(indices, begin))]
    loops = []
    for loop in begin:
        there = map(int, _at(indices, {**begin, loop: 1}))
        shift = [after - before for before, after in zip(here, there, strict=True)]
        loops.append(_Loop(loop, shift, _is_in(loop, terms)))
    return indices, loops


def _replaced(path: Sequence[Any], new: Any) -> Any:
    """The first statement of a path, with something else in the place of the last one."""
    for old, above in pairwise(reversed(path)):
        kind = type(above)
        if kind.__name__ == "For":
            loop = (above.loop_var, above.min, above.extent, above.kind)
            new = kind(*loop, new, above.thread_binding, above.annotations)
        elif kind.__name__ == "SeqStmt":
            new = kind([new if part.same_as(old) else part for part in above.seq])
        else:
            block = above.block
            of_block = (block.iter_vars, block.reads, block.writes, block.name_hint, new)
            allocated = (block.init, block.alloc_buffers, block.match_buffers, block.annotations)
            new = kind(above.iter_values, above.predicate, type(block)(*of_block, *allocated))
    return new


def _first_of_sums(loops: Sequence[_Loop]) -> int:
    """The place of the loop that sums up between prefetches; 0 if there is none.

    Of those over terms the innermost if it is long enough, else with those right around it.
    """
    sums = [place for place, loop in enumerate(loops) if loop.sums]
    if sums and loops[sums[-1]].steps >= _FEWEST_TERMS:
        return sums[-1]
    return next((place for place in reversed(sums) if place - 1 not in sums), 0)


def _is_sum(axis: Any) -> bool:
    return int(axis.iter_type) == REDUCTION


def _extent(one: Any) -> int | None:
    """Of a loop or a range; None if it is not known."""
    return getattr(one.extent, "value", None)


def _product(loops: Sequence[_Loop]) -> int:
    return prod(loop.steps for loop in loops)


def _uses(loops: Sequence[_Loop]) -> int:
    """How often loops use the same weights."""
    return prod(loop.steps for loop in loops if not any(loop.shift))


def _at(indices: Sequence[Any], there: Mapping[Any, Any]) -> list[Any]:
    """Indices by the variables of loops, where some of the loops are."""
    from tvm.tirx import IndexMap, IntImm

    places = [IntImm("int64", one) if isinstance(one, int) else one for one in there.values()]
    return [*IndexMap([loop.loop_var for loop in there], indices, None).map_indices(places)]


def _is_in(loop: Any, values: Sequence[Any]) -> bool:
    """Whether some values depend on where a loop is."""
    return any(node.same_as(loop.loop_var) for value in values for node in nodes(value))
