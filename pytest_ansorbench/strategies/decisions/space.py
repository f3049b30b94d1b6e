"""The open decisions of a sketch as a space of vectors, without the sketch."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.footprints import Footprints, Nest
from pytest_ansorbench.strategies.decisions.gpu_blocks import GpuBlock
from pytest_ansorbench.strategies.decisions.knobs import Knob, TileKnob

# Draws for each vector of a GPU's sketch that is wanted: most ask for what no GPU has.
_DRAWN: Final = 16
_MOST_DRAWS: Final = 32
# Spaces up to this size are searched as a whole.
_SMALL: Final = 2_000

# A choice for each knob.
Vector = tuple[int, ...]
# Several, shape (vectors, knobs).
Vectors = NDArray[np.int32]
# A sketch's index and a vector of its space.
Point = tuple[int, Vector]


class DecisionSpace:
    """The open decisions of one sketch, the `index`th of the design space.

    `footprints` are those of its tiled blocks, `gpu_blocks` what it asks of a GPU; `device` is the
    kind of target, empty for CPUs.
    """

    def __init__(
        self,
        index: int,
        knobs: Sequence[Knob],
        footprints: Sequence[Footprints],
        gpu_blocks: Sequence[GpuBlock] = (),
        device: str = "",
    ) -> None:
        self.index = index
        # What is known of sketches for CPUs says nothing of others.
        self.device = device
        self._gpu_blocks = tuple(gpu_blocks)
        self.knobs = tuple(knobs)
        self.footprints = tuple(footprints)
        self._sizes = np.array([knob.size for knob in knobs], dtype=np.int32)
        self._tables = [knob.table() for knob in knobs]
        self._levels = _levels(knobs)
        names = _names(knobs)
        self.columns = (
            *(
                f"{name}.{column}"
                for name, knob in zip(names, knobs, strict=True)
                for column in knob.columns
            ),
            *(f"tile{parts}.sum{level}" for parts, _ in self._levels for level in range(parts)),
            *(f"tile{parts}.block{size}" for parts, _ in self._levels for size in range(2, parts)),
            *(f"block{size}" for size in range(1, _largest(self._levels))),
            *(f"{n}.{name}" for n, one in enumerate(self.footprints) for name in one.columns),
            *(f"gpu{n}.{name}" for n, one in enumerate(self._gpu_blocks) for name in one.columns),
        )
        self.nests = tuple(
            Nest(
                width=f"{names[loop.knob]}.size{loop.parts - 1}",
                block=f"{n}.{one.columns[0]}",
                item_bytes=one.regions[0].item_bytes,
                steps=one.steps,
                unit=loop.extent / math.prod(knobs[loop.knob].decision(0)),
            )
            for n, one in enumerate(self.footprints)
            if (loop := one.innermost) is not None and loop.knob is not None
        )

    @property
    def size(self) -> int:
        return math.prod(knob.size for knob in self.knobs)

    def draw(self, count: int, rng: np.random.Generator) -> Vectors:
        """Vectors at random, each choice as likely as any other of its knob.

        Those that ask for what no GPU has are drawn again, unless there are hardly any others.
        """
        drawn = self._drawn(count, rng)
        if not self._gpu_blocks:
            return drawn
        found = drawn[self.allowed(drawn)]
        for _ in range(_MOST_DRAWS):
            if len(found) >= count:
                break
            more = self._drawn(_DRAWN * count, rng)
            found = np.concatenate([found, more[self.allowed(more)]])
        return np.concatenate([found, drawn])[:count]

    def _drawn(self, count: int, rng: np.random.Generator) -> Vectors:
        return rng.integers(self._sizes, size=(count, len(self.knobs)), dtype=np.int32)

    def every(self) -> Vectors:
        """All vectors, shape (size, knobs); for small spaces."""
        choices = [range(knob.size) for knob in self.knobs]
        return np.array([*itertools.product(*choices)], dtype=np.int32).reshape(self.size, -1)

    def scattered(self, count: int, rng: np.random.Generator) -> list[Point]:
        """Random points of the sketch, or all if it has few."""
        drawn = self.every() if self.size <= _SMALL else self.draw(count, rng)
        return [(self.index, tuple(vector)) for vector in drawn.tolist()]

    def stepped(
        self, vector: Vector, near_share: float, which: float, how: float, where: float
    ) -> Vector:
        """A vector with one decision changed, as three numbers from 0 to below 1 say.

        `near_share` of the steps on a tiling go to a near one: one prime factor moves from a tile
        to another. The rest draw it anew. Other decisions always go to a near choice (`Knob.near`).
        """
        if not vector:
            return vector
        at = int(which * len(vector))
        knob = self.knobs[at]
        anew = isinstance(knob, TileKnob) and how >= near_share
        near = range(knob.size) if anew else knob.near(vector[at])
        if not near:
            return vector
        choice = near[int(where * len(near))]
        return (*vector[:at], choice, *vector[at + 1 :])

    def allowed(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Which do not ask for more threads or shared memory than a GPU has, shape (vectors,).

        On other targets all.
        """
        fits = np.ones(len(vectors), dtype=np.bool_)
        if self._gpu_blocks:
            parts = [table[vectors[:, place]] for place, table in enumerate(self._tables)]
            for one in self._gpu_blocks:
                fits &= one.allowed(parts)
        return fits

    def features(self, vectors: Vectors) -> NDArray[np.float32]:
        """What a model is told of vectors, shape (vectors, columns).

        Features of each knob's choice; then, for loops with equally many tiles, logarithms of the
        product of their tiles on each level, and on the innermost levels together; then the same
        for all loops together, which is the size of the innermost blocks; then the footprints of
        each tiled block.
        """
        parts = [table[vectors[:, place]] for place, table in enumerate(self._tables)]
        if not parts:
            return np.zeros((len(vectors), 0), dtype=np.float32)
        sums = [
            np.sum([parts[place][:, :levels] for place in places], axis=0)
            for levels, places in self._levels
        ]
        # Of each group of loops, the logarithm of what its innermost 1, 2, ... levels come to.
        inner = [np.cumsum(of_group[:, ::-1], axis=1) for of_group in sums]
        blocks = [
            np.sum([of_group[:, min(size, of_group.shape[1]) - 1] for of_group in inner], axis=0)
            for size in range(1, _largest(self._levels))
        ]
        return np.concatenate(
            [
                *parts,
                *sums,
                *(of_group[:, 1:-1] for of_group in inner),
                *(block[:, np.newaxis] for block in blocks),
                *(one.features(parts) for one in self.footprints),
                *(one.features(parts) for one in self._gpu_blocks),
            ],
            axis=1,
        )

    def decisions_of(self, vector: Vector) -> list[Any]:
        """A vector as TVM's decisions, for the journal: JSON values."""
        return [knob.decision(choice) for knob, choice in zip(self.knobs, vector, strict=True)]

    def vector_of(self, decisions: Sequence[Any]) -> Vector | None:
        """A vector from TVM's decisions; None if one of them is no choice here."""
        if len(decisions) != len(self.knobs):
            return None
        found = [
            knob.choice_of(decision) for knob, decision in zip(self.knobs, decisions, strict=True)
        ]
        vector = tuple(choice for choice in found if choice is not None)
        return vector if len(vector) == len(found) else None


def by_sketch(points: Sequence[Point]) -> Iterator[tuple[int, NDArray[np.intp], Vectors]]:
    """Each sketch that points are of, the places of these points, and their vectors."""
    places: dict[int, list[int]] = {}
    for at, (index, _) in enumerate(points):
        places.setdefault(index, []).append(at)
    for index, mine in places.items():
        vectors = np.array([points[at][1] for at in mine], dtype=np.int32)
        yield index, np.array(mine), vectors


def allowed(spaces: Sequence[DecisionSpace], points: Iterable[Point]) -> list[Point]:
    """Those that do not ask for what no GPU has, in order."""
    listed = list(points)
    fits = np.ones(len(listed), dtype=np.bool_)
    for index, places, vectors in by_sketch(listed):
        fits[places] = spaces[index].allowed(vectors)
    return [point for point, fit in zip(listed, fits.tolist(), strict=True) if fit]


def shared_out(points: Sequence[Point], shares: NDArray[np.float64]) -> Iterator[Point]:
    """Merge the sketches' points, best first, so that any prefix of them has the shares."""
    taken = [0] * len(shares)
    keyed = []
    for place, point in enumerate(points):
        index = point[0]
        taken[index] += 1
        keyed.append(((taken[index] - 0.5) / shares[index], place, point))
    keyed.sort(key=lambda one: one[:2])
    return (point for _, _, point in keyed)


def _names(knobs: Sequence[Knob]) -> list[str]:
    """Each knob's kind and its place among those of the kind, so that sketches share columns."""
    seen: Counter[str] = Counter()
    names = []
    for knob in knobs:
        kind = f"tile{knob.parts}" if isinstance(knob, TileKnob) else type(knob).__name__
        names.append(f"{kind}.{seen[kind]}")
        seen[kind] += 1
    return names


def _largest(levels: Sequence[tuple[int, list[int]]]) -> int:
    """The most tiles that a loop has, at least 1."""
    return max((parts for parts, _ in levels), default=1)


def _levels(knobs: Sequence[Knob]) -> list[tuple[int, list[int]]]:
    """Places of the knobs of loops with equally many tiles, by that number."""
    by_parts: dict[int, list[int]] = {}
    for place, knob in enumerate(knobs):
        if isinstance(knob, TileKnob):
            by_parts.setdefault(knob.parts, []).append(place)
    return sorted(by_parts.items())
