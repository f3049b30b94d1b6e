"""Bytes that the inner tiles of a block touch: what decides which cache they stay in."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.records.checks import check
from pytest_ansorbench.workloads.signature import REDUCTION, buffer_of

if TYPE_CHECKING:
    from tvm.s_tir import Schedule
    from tvm.s_tir.schedule import Instruction

_STRUCTURE: Final = "meta_schedule.tiling_structure"
_INTRINSIC: Final = "meta_schedule.auto_tensorize"
# Least and most threads of a GPU's block.
_THREADS: Final = tuple(f"meta_schedule.thread_extent_{end}_inclusive" for end in ("low", "high"))
# Expressions of a number.
_BY_NUMBER: Final[Mapping[str, Literal["multiple", "quotient", "remainder"]]] = {
    "Mul": "multiple",
    "FloorDiv": "quotient",
    "FloorMod": "remainder",
}

# Terms of which sums of loops and of their multiples are made.
_LINEAR: Final = ("loop", "constant", "sum", "multiple")

# How many steps each loop of a block takes, each of shape (depths, vectors).
Extents = Sequence[NDArray[np.float64]]


@dataclass(frozen=True)
class Nest:
    """A tiled block of a sketch, as its innermost loops show it.

    Both columns hold logarithms to base 2.
    """

    # Column of the loop that TVM vectorizes: the innermost tile of the last spatial loop.
    width: str
    # Column of the bytes that the innermost tiles of all spatial loops write: what has to stay in
    # registers while a reduction goes on.
    block: str
    item_bytes: int
    # Of the whole nest.
    steps: float
    # Steps of the loop that an intrinsic takes at once, one without.
    unit: float = 1.0


@dataclass(frozen=True)
class Depth:
    """A place in a nest of tiled loops: how many innermost tiles of each loop are inside it."""

    spatial: int
    reduction: int


def depths_of(structure: str) -> list[Depth]:
    """The places in a nest, from the inside out, without the whole nest.

    `structure` is as multi-level tiling annotates it, from the outside in, e.g. `SSRSRS`: S for a
    tile of each spatial loop, R for one of each reduction loop.
    """
    inner = structure[::-1]
    return [
        Depth(inner[:count].count("S"), inner[:count].count("R")) for count in range(1, len(inner))
    ]


@dataclass(frozen=True, slots=True)
class Term:
    """A term of an index, in postfix order: it takes the spans of those before it, and leaves one.

    A span is how far apart values lie at most, plus 1. That of a `loop` is its steps, of a
    `constant` 1, of a `sum` a + b - 1, of a `multiple` 1 + number (a - 1), of a `quotient`
    1 + ceil((a - 1) / number), of a `remainder` min(a, number). Any other expression of two has no
    more values than their `pairs`, a b.

    Attributes:
        kind: What it is.
        number: Of a loop its place, of a multiple, quotient or remainder the other operand; else 0.
    """

    kind: Literal["loop", "constant", "sum", "multiple", "quotient", "remainder", "pairs"]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Dimension:
    """What is touched of a dimension of a buffer."""

    index: tuple[Term, ...]  # where the region of a step begins
    extent: int  # of the region
    whole: int  # of the buffer

    def __post_init__(self) -> None:
        height = 0
        for term in self.index:
            takes = {"loop": 0, "constant": 0, "sum": 2, "pairs": 2}.get(term.kind, 1)
            fits = height >= takes and term.number >= (1 if takes == 1 else 0)
            check(fits, "index", term, "an expression in postfix order")
            height += 1 - takes
        check(height == 1, "index", self.index, "an expression in postfix order")
        check(min(self.extent, self.whole) >= 1, "whole", self.whole, "extents of at least 1")


@dataclass(frozen=True, slots=True)
class Region:
    """What a step of a block reads or writes of a buffer."""

    item_bytes: int
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class TiledLoop:
    """A loop of a block."""

    extent: int
    reduces: bool
    knob: int | None  # the one that tiles it; None if it is not tiled
    parts: int  # the number of its tiles; 0 without


@dataclass(frozen=True)
class Footprints:
    """What the inner tiles of one block touch, at each depth of its nest.

    A working set decides which cache a nest runs from (Goto and van de Geijn, "Anatomy of
    high-performance matrix multiplication", https://doi.org/10.1145/1356052.1356053). A tree that
    sees tile sizes has to put it together from four to ten of them. At each depth there are
    logarithms of the bytes of each buffer, of all buffers together, and of the steps of the nest
    over these bytes.

    Attributes:
        structure: As in `depths_of`.
        intrinsic: What takes some steps at once, so that tiles are of what is around it; empty if
            nothing does. Its name is in those of the columns: what is fast for other programs need
            not be for these.
        loops: The loops, in the order of the block's variables.
        regions: One a buffer, the written one first.
        threads: The least and the most that a block of a GPU may have; empty on other targets.
    """

    structure: str
    intrinsic: str
    loops: tuple[TiledLoop, ...]
    regions: tuple[Region, ...]
    threads: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check(len(self.threads) in (0, 2), "threads", self.threads, "two, or none")
        is_nest = bool(self.structure) and not set(self.structure) - {"S", "R"}
        check(is_nest, "structure", self.structure, "letters S and R, e.g. SSRSRS")
        check(bool(self.loops and self.regions), "regions", self.regions, "some, of some loops")
        deepest = self._depths[-1] if self._depths else Depth(0, 0)
        for at, loop in enumerate(self.loops):
            tiles = max(1, deepest.reduction if loop.reduces else deepest.spatial)
            fits = loop.extent >= 1 and (loop.knob is None or loop.parts >= tiles)
            check(fits, f"loops[{at}]", loop, f"an extent, and {tiles} tiles or more")
        terms = (term for one in self.regions for two in one.dimensions for term in two.index)
        known = all(one.kind != "loop" or one.number < len(self.loops) for one in terms)
        check(known, "regions", self.regions, f"indices of {len(self.loops)} loops")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the features."""
        names = [*(f"buffer{n}" for n in range(len(self.regions))), "bytes", "intensity"]
        prefix = f"{self.intrinsic}." if self.intrinsic else ""
        return tuple(
            f"{prefix}depth{depth}.{name}" for depth in range(len(self._depths)) for name in names
        )

    @property
    def innermost(self) -> TiledLoop | None:
        """The last spatial loop, whose innermost tile TVM vectorizes; None if there is none."""
        return next((loop for loop in reversed(self.loops) if not loop.reduces), None)

    @property
    def steps(self) -> float:
        """Of the whole nest."""
        return math.prod(float(loop.extent) for loop in self.loops)

    def features(self, tiles: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Footprints of vectors, shape (vectors, columns).

        `tiles` are by knob, logarithms to base 2 of its tiles from the outside in, each of shape
        (vectors, tiles or more).
        """
        # All depths at once: arrays are small, and NumPy takes as long to be called as to count.
        vectors = len(tiles[0])
        extents = self._extents(tiles, self._depths)
        touched = [_bytes(region, extents) for region in self.regions]
        total = np.sum(touched, axis=0)
        steps = np.prod(extents, axis=0)
        logs = np.log2([*touched, total, steps / total])
        # From (columns of a depth, depths, vectors) to (vectors, columns).
        found: NDArray[np.float32] = logs.transpose(2, 1, 0).reshape(vectors, -1)
        return found.astype(np.float32)

    @cached_property
    def is_exact(self) -> bool:
        """Whether bytes are counted, not bounded: indices are sums of loops and multiples."""
        dimensions = (one for region in self.regions for one in region.dimensions)
        return all(term.kind in _LINEAR for one in dimensions for term in one.index)

    def touched(
        self, tiles: Sequence[NDArray[np.float32]], depths: Sequence[Depth]
    ) -> list[NDArray[np.float64]]:
        """Bytes of each buffer inside some depths, the written one first, (depths, vectors)."""
        extents = self._extents(tiles, depths)
        return [_bytes(region, extents) for region in self.regions]

    def spatial_tiles(self, tiles: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """By level, from the outside in, the logarithm of the product of all spatial tiles."""
        knobs = [one.knob for one in self.loops if one.knob is not None and not one.reduces]
        levels = self.structure.count("S")
        return [
            np.sum([tiles[knob][:, level] for knob in knobs], axis=0) for level in range(levels)
        ]

    @cached_property
    def _depths(self) -> list[Depth]:
        return depths_of(self.structure)

    def _extents(self, tiles: Sequence[NDArray[np.float32]], depths: Sequence[Depth]) -> Extents:
        """Steps of each loop inside each depth; an untiled loop is inside as a whole."""
        shape = len(depths), len(tiles[0])
        extents: list[NDArray[np.float64]] = []
        for loop in self.loops:
            if loop.knob is None:
                extents.append(np.full(shape, float(loop.extent)))
                continue
            parts = loop.parts
            inner = [one.reduction if loop.reduces else one.spatial for one in depths]
            # Logarithms of what the innermost 0, 1, 2, ... tiles come to.
            logs = np.zeros((parts + 1, shape[1]))
            np.cumsum(tiles[loop.knob][:, parts - 1 :: -1].T, axis=0, out=logs[1:])
            steps = np.rint(np.exp2(logs))
            # A loop is longer than its tiles where an intrinsic takes some steps at once.
            extents.append(steps[inner] * np.rint(loop.extent / steps[parts]))
        return extents


def footprints_of(
    schedule: Schedule,
    instructions: Sequence[Instruction],
    parts: Mapping[Instruction, tuple[int, int]],
) -> list[Footprints]:
    """Footprints of the blocks that a sketch tiles on several levels, as they are in the program.

    A block that was transformed first, as by `rfactor`, has none. One that an intrinsic computes
    has those of all its steps. `parts` has the knob and the number of tiles of each instruction
    that samples tiles.
    """
    names: dict[Any, str] = {}
    notes: dict[Any, dict[str, Any]] = defaultdict(dict)
    around: dict[Any, Any] = {}
    loops: dict[Any, tuple[Any, int]] = {}
    places: dict[Any, dict[int, tuple[int, int]]] = {}
    for one in instructions:
        kind = str(one.kind.name)
        if kind == "GetSBlock":
            names[one.outputs[0]] = str(one.attrs[0])
        elif kind == "Annotate":
            notes[one.inputs[0]][str(one.attrs[0])] = one.inputs[1]
        elif kind == "Split" and one.inputs[0] in around:
            around |= dict.fromkeys(one.outputs, around[one.inputs[0]])
        elif kind == "Blockize" and (whole := around.get(one.inputs[0])) in names:
            # What an intrinsic takes at once becomes a block of its own, within one that is tiled.
            if structure := notes[whole].get(_STRUCTURE):
                [tiled] = one.outputs
                names[tiled], notes[tiled][_STRUCTURE] = names[whole], structure
        elif kind == "GetLoops":
            around |= dict.fromkeys(one.outputs, one.inputs[0])
            loops |= {loop: (one.inputs[0], at) for at, loop in enumerate(one.outputs)}
        elif one in parts and one.inputs[0] in loops:
            block, at = loops[one.inputs[0]]
            places.setdefault(block, {})[at] = parts[one]
    return [
        _footprints(schedule.get(schedule.get_sblock(names[block])), of_block, notes[block])
        for block, of_block in places.items()
        if block in names and _STRUCTURE in notes[block]
    ]


def _footprints(
    block: Any, places: Mapping[int, tuple[int, int]], notes: Mapping[str, Any]
) -> Footprints:
    """Those of TVM's block with its annotations.

    `places` has the knob and the number of tiles of each tiled loop.
    """
    variables = {one.var: at for at, one in enumerate(block.iter_vars)}
    loops = tuple(
        TiledLoop(int(one.dom.extent), is_reduction(one), *places.get(at, (None, 0)))
        for at, one in enumerate(block.iter_vars)
    )
    # A buffer that is read in several places counts once.
    regions = {buffer_of(one): one for one in (*block.writes, *block.reads)}
    touched = tuple(_region(one, variables) for one in regions.values())
    return Footprints(
        str(notes[_STRUCTURE]),
        str(notes.get(_INTRINSIC, "")),
        loops,
        touched,
        tuple(sorted(int(notes[name]) for name in _THREADS if name in notes)),
    )


def is_reduction(variable: Any) -> bool:
    return int(variable.iter_type) == REDUCTION


def _region(region: Any, variables: Mapping[Any, int]) -> Region:
    buffer = buffer_of(region)
    return Region(
        int(np.dtype(str(buffer.dtype)).itemsize),
        tuple(
            Dimension(tuple(_terms(one.min, variables)), int(one.extent), int(whole))
            for one, whole in zip(region.region, buffer.shape, strict=True)
        ),
    )


def _terms(index: Any, variables: Mapping[Any, int]) -> Iterator[Term]:
    """An index of TVM's, term by term."""
    if index in variables:
        yield Term("loop", variables[index])
        return
    kind = type(index).__name__
    by_number = type(getattr(index, "b", None)).__name__ == "IntImm"
    if kind in ("Add", "Sub"):
        yield from (*_terms(index.a, variables), *_terms(index.b, variables), Term("sum"))
    elif by_number and kind in _BY_NUMBER and int(index.b):
        yield from (*_terms(index.a, variables), Term(_BY_NUMBER[kind], abs(int(index.b))))
    else:
        parts = [getattr(index, name) for name in ("a", "b", "value") if hasattr(index, name)]
        if kind == "IntImm" or not parts:
            yield Term("constant")
            return
        for at, part in enumerate(parts):
            yield from _terms(part, variables)
            if at:
                yield Term("pairs")


def _bytes(region: Region, extents: Extents) -> NDArray[np.float64]:
    """Bytes of a buffer that are touched, at most all of it, shape (depths, vectors)."""
    touched = np.full(extents[0].shape, float(region.item_bytes))
    for dimension in region.dimensions:
        span = _span(dimension.index, extents) + dimension.extent - 1.0
        touched = touched * np.minimum(span, dimension.whole)
    return touched


def _span(index: Sequence[Term], extents: Extents) -> NDArray[np.float64]:
    """That of an index, see `Term`; shape (depths, vectors), or (1,)."""
    spans: list[NDArray[np.float64]] = []
    for term in index:
        if term.kind == "loop":
            spans.append(extents[term.number])
        elif term.kind == "constant":
            spans.append(np.ones(1))
        elif term.kind == "sum":
            spans.append(spans.pop() + spans.pop() - 1.0)
        elif term.kind == "pairs":
            spans.append(spans.pop() * spans.pop())
        elif term.kind == "multiple":
            spans.append(1.0 + term.number * (spans.pop() - 1.0))
        elif term.kind == "quotient":
            spans.append(1.0 + np.ceil((spans.pop() - 1.0) / term.number))
        else:
            spans.append(np.minimum(spans.pop(), term.number))
    [span] = spans
    return span
