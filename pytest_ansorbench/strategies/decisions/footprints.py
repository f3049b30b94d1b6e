"""Bytes that the inner tiles of a block touch: what decides which cache they stay in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tvm.s_tir import Schedule
    from tvm.s_tir.schedule import Instruction

_STRUCTURE: Final = "meta_schedule.tiling_structure"
_INTRINSIC: Final = "meta_schedule.auto_tensorize"
# TVM's `IterVar.CommReduce`.
_COMM_REDUCE: Final = 2

# How many steps each variable of a block takes, shape (depths, vectors).
Extents = Mapping[Any, NDArray[np.float64]]


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


class Footprints:
    """What the inner tiles of one block touch, at each depth of its nest.

    A working set decides which cache a nest runs from (Goto and van de Geijn, "Anatomy of
    high-performance matrix multiplication", https://doi.org/10.1145/1356052.1356053). A tree that
    sees tile sizes has to put it together from four to ten of them. At each depth there are
    logarithms of the bytes of each buffer, of all buffers together, and of the steps of the nest
    over these bytes; the first buffer is the one that is written.
    """

    def __init__(
        self,
        block: Any,
        places: Mapping[int, tuple[int, int]],
        structure: str,
        intrinsic: str,
    ) -> None:
        # `places`: of each loop that is tiled, its knob and the number of tiles. Where an intrinsic
        # takes some steps at once, tiles are of what is around it. Its name is in those of the
        # columns: what is fast for other programs need not be for these.
        self._variables = [one.var for one in block.iter_vars]
        self._whole = [float(int(one.dom.extent)) for one in block.iter_vars]
        self._reduces = [is_reduction(one) for one in block.iter_vars]
        self._places = places
        self._depths = depths_of(structure)
        # A buffer that is read in several places counts once.
        regions = {_buffer(one): one for one in (*block.writes, *block.reads)}
        self._regions = list(regions.values())
        names = [*(f"buffer{n}" for n in range(len(self._regions))), "bytes", "intensity"]
        prefix = f"{intrinsic}." if intrinsic else ""
        self.columns = tuple(
            f"{prefix}depth{depth}.{name}" for depth in range(len(self._depths)) for name in names
        )
        spatial = [loop for loop, reduces in enumerate(self._reduces) if not reduces]
        self.vectorized = places.get(spatial[-1]) if spatial else None
        # Steps of the loop that is vectorized.
        self.width = self._whole[spatial[-1]] if spatial else 1.0
        self.item_bytes = _item_bytes(self._regions[0])
        self.steps = math.prod(self._whole)

    def features(self, tiles: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Footprints of vectors, shape (vectors, columns).

        `tiles` are by knob, logarithms to base 2 of its tiles from the outside in, each of shape
        (vectors, tiles or more).
        """
        # All depths at once: arrays are small, and NumPy takes as long to be called as to count.
        vectors = len(tiles[0])
        extents = self._extents(tiles)
        touched = [_bytes(region, extents) for region in self._regions]
        total = np.sum(touched, axis=0)
        steps = np.prod([*extents.values()], axis=0)
        logs = np.log2([*touched, total, steps / total])
        # From (columns of a depth, depths, vectors) to (vectors, columns).
        found: NDArray[np.float32] = logs.transpose(2, 1, 0).reshape(vectors, -1)
        return found.astype(np.float32)

    def _extents(self, tiles: Sequence[NDArray[np.float32]]) -> Extents:
        """Steps of each variable inside each depth; an untiled loop is inside as a whole."""
        shape = len(self._depths), len(tiles[0])
        extents: dict[Any, NDArray[np.float64]] = {}
        for loop, variable in enumerate(self._variables):
            if loop in self._places:
                knob, parts = self._places[loop]
                inner = [
                    one.reduction if self._reduces[loop] else one.spatial for one in self._depths
                ]
                # Logarithms of what the innermost 0, 1, 2, ... tiles come to.
                logs = np.zeros((parts + 1, shape[1]))
                np.cumsum(tiles[knob][:, parts - 1 :: -1].T, axis=0, out=logs[1:])
                steps = np.rint(np.exp2(logs))
                # A loop is longer than its tiles where an intrinsic takes some steps at once.
                extents[variable] = steps[inner] * np.rint(self._whole[loop] / steps[parts])
            else:
                extents[variable] = np.full(shape, self._whole[loop])
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
    structures: dict[Any, str] = {}
    intrinsics: dict[Any, str] = {}
    around: dict[Any, Any] = {}
    loops: dict[Any, tuple[Any, int]] = {}
    places: dict[Any, dict[int, tuple[int, int]]] = {}
    for one in instructions:
        kind = str(one.kind.name)
        if kind == "GetSBlock":
            names[one.outputs[0]] = str(one.attrs[0])
        elif kind == "Annotate" and str(one.attrs[0]) == _STRUCTURE:
            structures[one.inputs[0]] = str(one.inputs[1])
        elif kind == "Annotate" and str(one.attrs[0]) == _INTRINSIC:
            intrinsics[one.inputs[0]] = str(one.inputs[1])
        elif kind == "Split" and one.inputs[0] in around:
            around |= dict.fromkeys(one.outputs, around[one.inputs[0]])
        elif kind == "Blockize" and around.get(one.inputs[0]) in names.keys() & structures.keys():
            # What an intrinsic takes at once becomes a block of its own, within one that is tiled.
            [tiled], whole = one.outputs, around[one.inputs[0]]
            names[tiled], structures[tiled] = names[whole], structures[whole]
        elif kind == "GetLoops":
            around |= dict.fromkeys(one.outputs, one.inputs[0])
            loops |= {loop: (one.inputs[0], at) for at, loop in enumerate(one.outputs)}
        elif one in parts and one.inputs[0] in loops:
            block, at = loops[one.inputs[0]]
            places.setdefault(block, {})[at] = parts[one]
    return [
        Footprints(
            schedule.get(schedule.get_sblock(names[block])),
            of_block,
            structures[block],
            intrinsics.get(block, ""),
        )
        for block, of_block in places.items()
        if block in names and block in structures
    ]


def is_reduction(variable: Any) -> bool:
    return int(variable.iter_type) == _COMM_REDUCE


def _bytes(region: Any, extents: Extents) -> NDArray[np.float64]:
    """Bytes of a buffer that are touched, at most all of it, shape (depths, vectors)."""
    shape = next(iter(extents.values())).shape
    touched = np.full(shape, float(_item_bytes(region)))
    for dimension, whole in zip(region.region, _buffer(region).shape, strict=True):
        span = _span(dimension.min, extents) + int(dimension.extent) - 1.0
        touched = touched * np.minimum(span, int(whole))
    return touched


def _item_bytes(region: Any) -> int:
    return int(np.dtype(str(_buffer(region).dtype)).itemsize)


def _buffer(region: Any) -> Any:
    """Of a region; TVM 0.27 calls it otherwise than those before."""
    return region.source if hasattr(region, "source") else region.buffer


def _span(index: Any, extents: Extents) -> NDArray[np.float64]:
    """How far apart the values of an index lie at most, plus 1; shape (depths, vectors), or (1,).

    Sums, multiples, quotients and remainders; of other expressions of two operands, and of casts,
    the steps of all variables in them, which is no less than the number of their values.
    """
    if index in extents:
        return extents[index]
    kind = type(index).__name__
    if kind == "IntImm":
        return np.ones(1)
    if kind in ("Add", "Sub"):
        return _span(index.a, extents) + _span(index.b, extents) - 1.0
    if kind == "Mul" and type(index.b).__name__ == "IntImm":
        return 1.0 + abs(int(index.b)) * (_span(index.a, extents) - 1.0)
    if kind == "FloorDiv" and type(index.b).__name__ == "IntImm":
        return 1.0 + np.ceil((_span(index.a, extents) - 1.0) / int(index.b))
    if kind == "FloorMod" and type(index.b).__name__ == "IntImm":
        return np.minimum(_span(index.a, extents), int(index.b))
    within = [_span(part, extents) for part in _parts(index)]
    return np.prod(within, axis=0) if within else np.ones(1)


def _parts(index: Any) -> list[Any]:
    return [getattr(index, name) for name in ("a", "b", "value") if hasattr(index, name)]
