"""The loops of a scheduled program: what each runs, and what it touches.

These are the loop contexts of section 3.1, which AutoTVM took from its lowered programs (TVM,
src/autotvm/touch_extractor.cc, before it was removed). Blocks of a schedule say the same once their
variables are put in terms of loops, and lowering takes longer than all the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.workloads.signature import buffer_of, is_load, is_store, nodes

if TYPE_CHECKING:
    from tvm import IRModule

LOOPS: Final = 48
"""Loops of a program that there are columns for; of one with more, the first ones are told."""
TOUCHED: Final = 4
"""Buffers of a statement that are told: the one that is written, then those that are read."""
# Of TVM's `ForKind`: serial, parallel, vectorized, unrolled, bound to a thread.
_KINDS: Final = 5
CONTEXT: Final = 4 + _KINDS + 3 * TOUCHED
"""Columns of a loop's context."""
_SAMPLES: Final = 20
RELATIONS: Final = TOUCHED * 4 * _SAMPLES * 2
"""Columns of a program's relations."""
_UNROLL: Final = "pragma_auto_unroll_max_step"

# How far an index moves with a loop's variable.
_Strides = Mapping[Any, float]


@dataclass(frozen=True, slots=True)
class Touch:
    """How a loop touches a buffer.

    Attributes:
        stride: Items by which the address moves from one step to the next.
        count: Bytes that all steps touch, as if no two strides led to one address.
        reuse: How often each of them is touched.
    """

    stride: float
    count: float
    reuse: float


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of more than one step.

    Attributes:
        parent: Place of the loop around it, -1 for none; it comes earlier.
        extent: Steps.
        kind: TVM's `ForKind`.
        unroll: Steps up to which LLVM is told to unroll it.
        outer: Steps of it and all loops around it together.
        inner: Steps of it and the loops around the busiest statement within.
        touches: What that statement touches, the written buffer first.
    """

    parent: int
    extent: int
    kind: int
    unroll: int
    outer: float
    inner: float
    touches: tuple[Touch, ...]


def nest_of(mod: IRModule) -> list[Loop]:
    """The loops of a program's `main`, each before those within it."""
    walk = _Walk()
    walk.statement(mod["main"].body, -1, {})
    busiest: dict[int, _Statement] = {}
    for one in walk.statements:
        for at in one.path:
            if at not in busiest or one.steps >= busiest[at].steps:
                busiest[at] = one
    return [_loop(at, walk.found, busiest.get(at)) for at in range(len(walk.found))]


def contexts(nests: Sequence[Sequence[Loop]]) -> NDArray[np.float32]:
    """What a model is told of the loops of programs, as one row each.

    Returns:
        Shape (programs, LOOPS * (1 + CONTEXT)). Of each loop its parent's place, then, in
        logarithms to base 2, its steps, those of the loops around and within, and of unrolling; its
        kind, one-hot; and stride, bytes and reuse of each buffer. NaN where there is nothing.
    """
    rows = np.full((len(nests), LOOPS, 1 + CONTEXT), np.nan, dtype=np.float32)
    for row, nest in zip(rows, nests, strict=True):
        for columns, loop in zip(row, nest, strict=False):
            kinds = [float(kind == loop.kind) for kind in range(_KINDS)]
            sizes = np.log2([loop.extent, loop.outer, loop.inner, 1.0 + loop.unroll])
            touches = [(1.0 + one.stride, one.count, one.reuse) for one in loop.touches]
            told = [loop.parent, *sizes, *kinds, *np.log2(touches).ravel()]
            columns[: len(told)] = told
    return rows.reshape(len(nests), LOOPS * (1 + CONTEXT))


def relations(nests: Sequence[Sequence[Loop]]) -> NDArray[np.float32]:
    """How what programs touch grows with their loops (section 4, context relation features).

    The loops are those around the busiest statement, from the outermost to the innermost. For each
    buffer and a threshold of 2 ** t bytes it is told how often these are reused where just as many
    are touched, and how far the threshold is from there; and the same of bytes by reuse, of the
    steps around by bytes, and of bytes by the steps around. Nothing of it depends on how many loops
    there are. As in TVM, t is 0 to 19.

    Returns:
        Shape (programs, RELATIONS), in logarithms to base 2; NaN for buffers that are not there.
    """
    rows = np.full((len(nests), RELATIONS), np.nan, dtype=np.float32)
    for row, nest in zip(rows, nests, strict=True):
        chain = _busiest_chain(nest)
        if not chain:
            continue
        told = [
            sampled
            for curve in zip(*map(_points, chain), strict=False)
            for sampled in _sampled(np.log2(curve))
        ]
        row[: len(told)] = told
    return rows


def _busiest_chain(nest: Sequence[Loop]) -> list[Loop]:
    """The loops around the statement with the most steps."""
    leaves = set(range(len(nest))) - {loop.parent for loop in nest}
    if not leaves:
        return []
    at = max(leaves, key=lambda leaf: (nest[leaf].outer, leaf))
    return [nest[place] for place in _path(at, nest)]


def _path(at: int, loops: Sequence[Loop | _For]) -> list[int]:
    """Places of a loop and of those around it, the outermost first; none for -1."""
    path = []
    while at >= 0:
        path.append(at)
        at = loops[at].parent
    return path[::-1]


def _points(loop: Loop) -> list[tuple[float, float, float]]:
    return [(one.count, one.reuse, loop.outer) for one in loop.touches]


def _sampled(points: NDArray[np.float64]) -> Iterator[float]:
    """A buffer's relations, from points of shape (loops, 3)."""
    count, reuse, outer = np.sort(np.vstack([np.zeros(3), points]), axis=0).T
    for x, y in ((count, reuse), (reuse, count), (count, outer), (outer, count)):
        thresholds = np.arange(float(_SAMPLES))
        at = np.searchsorted(x, thresholds + 1e-6, side="right") - 1
        yield from np.stack([y[at], thresholds - x[at]], axis=1).ravel()


@dataclass(frozen=True, slots=True)
class _For:
    parent: int
    variable: Any
    extent: int
    kind: int
    unroll: int


@dataclass(frozen=True, slots=True)
class _Statement:
    path: list[int]  # from the outermost loop
    steps: float
    # Of each buffer the bytes of an item, and strides by the places of loops.
    accesses: list[tuple[int, dict[int, float]]]


@dataclass
class _Walk:
    """Goes through a program, and notes loops and statements."""

    found: list[_For] = field(default_factory=list)
    statements: list[_Statement] = field(default_factory=list)

    def statement(self, node: Any, loop: int, strides: Mapping[Any, _Strides]) -> None:
        """Visit a statement within a loop; `strides` are of all variables there are."""
        name = type(node).__name__
        if name == "For":
            self._for(node, loop, strides)
        elif name.endswith("BlockRealize"):
            block, before = node.block, len(self.statements)
            values = [_strides(value, strides) for value in node.iter_values]
            bound = {one.var: value for one, value in zip(block.iter_vars, values, strict=True)}
            within = {**strides, **bound}
            self.statement(block.body, loop, within)
            if len(self.statements) == before:  # an intrinsic, which stores nothing itself
                regions = [
                    (buffer_of(one), [dimension.min for dimension in one.region])
                    for one in (*block.writes, *block.reads)
                ]
                self._note(regions, loop, within)
        elif name == "SeqStmt":
            for one in node.seq:
                self.statement(one, loop, strides)
        elif is_store(node):
            accesses = [node, *(part for part in nodes(node) if is_load(part))]
            self._note([(buffer_of(one), one.indices) for one in accesses], loop, strides)
        else:
            for part in ("body", "then_case", "else_case"):
                if getattr(node, part, None) is not None:
                    self.statement(getattr(node, part), loop, strides)

    def _for(self, node: Any, loop: int, strides: Mapping[Any, _Strides]) -> None:
        extent = int(node.extent)
        if extent != 1:
            around = self.found[loop].unroll if loop >= 0 else 0
            unroll = int(node.annotations.get(_UNROLL, around))
            self.found.append(_For(loop, node.loop_var, extent, int(node.kind), unroll))
            loop, strides = len(self.found) - 1, {**strides, node.loop_var: {node.loop_var: 1.0}}
        self.statement(node.body, loop, strides)

    def _note(
        self, accesses: Sequence[tuple[Any, Any]], loop: int, strides: Mapping[Any, _Strides]
    ) -> None:
        path = _path(loop, self.found)
        places = {self.found[at].variable: at for at in path}
        # A buffer that is touched several times counts once.
        first = {buffer: indices for buffer, indices in reversed(accesses)}
        order = dict.fromkeys(buffer for buffer, _ in accesses)
        noted = []
        for buffer in [*order][:TOUCHED]:
            moved: dict[int, float] = {}
            step = 1.0
            for index, size in zip(reversed(first[buffer]), reversed(buffer.shape), strict=True):
                for variable, stride in _strides(index, strides).items():
                    moved[places[variable]] = moved.get(places[variable], 0.0) + step * stride
                step *= int(size)
            noted.append((np.dtype(str(buffer.dtype)).itemsize, moved))
        steps = math.prod(float(self.found[at].extent) for at in path)
        self.statements.append(_Statement(path, steps, noted))


def _loop(at: int, found: Sequence[_For], busiest: _Statement | None) -> Loop:
    one, outer = found[at], math.prod(float(found[place].extent) for place in _path(at, found))
    if busiest is None:
        return Loop(one.parent, one.extent, one.kind, one.unroll, outer, one.extent, ())
    within = busiest.path[busiest.path.index(at) :]
    inner = math.prod(float(found[place].extent) for place in within)
    touches = []
    for size, strides in busiest.accesses:
        items = math.prod(float(found[place].extent) for place in within if strides.get(place))
        touches.append(Touch(abs(strides.get(at, 0.0)), size * items, inner / items))
    return Loop(one.parent, one.extent, one.kind, one.unroll, outer, inner, tuple(touches))


def _strides(index: Any, known: Mapping[Any, _Strides]) -> _Strides:
    """How far an index moves with each loop; where it does not move evenly, on the average."""
    if index in known:
        return known[index]
    kind = type(index).__name__
    if kind in ("Add", "Sub"):
        sign = 1.0 if kind == "Add" else -1.0
        total = dict(_strides(index.a, known))
        for variable, stride in _strides(index.b, known).items():
            total[variable] = total.get(variable, 0.0) + sign * stride
        return total
    if kind in ("Mul", "FloorDiv", "FloorMod") and type(index.b).__name__ == "IntImm":
        times = {"Mul": float(int(index.b)), "FloorDiv": 1.0 / int(index.b), "FloorMod": 1.0}[kind]
        return {variable: times * one for variable, one in _strides(index.a, known).items()}
    parts = [known[part] for part in nodes(index) if part in known]
    return {variable: stride for part in parts for variable, stride in part.items()}
