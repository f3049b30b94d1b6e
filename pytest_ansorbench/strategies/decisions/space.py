"""A sketch as a space of decision vectors."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_ansorbench.strategies.decisions.footprints import Nest, footprints_of
from pytest_ansorbench.strategies.decisions.knobs import (
    Knob,
    LocationKnob,
    TileKnob,
    decisions_in,
    is_sampling,
    knob_of,
)
from pytest_ansorbench.strategies.decisions.placement import placement_of, probed_locations
from pytest_ansorbench.strategies.program_maker import ProgramMaker, ScheduledProgram

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.schedule import Instruction

# A choice for each knob.
Vector = tuple[int, ...]
# Several, shape (vectors, knobs).
Vectors = NDArray[np.int32]
# A sketch's index and a vector of its space.
Point = tuple[int, Vector]


class DecisionSpace:
    """The open decisions of one sketch, the `index`th of the design space."""

    def __init__(self, index: int, sketch: Schedule, maker: ProgramMaker) -> None:
        """Find the decisions, with a few random schedules where choices depend on each other."""
        self.index = index
        trace = sketch.trace.simplified(True)
        self._instructions = list(trace.insts)
        self._sampling = [one for one in self._instructions if is_sampling(one)]
        self._placement = placement_of(self._instructions, maker)
        if self._placement is None:
            seen = probed_locations(self._instructions, maker)
        else:
            seen = self._placement.seen
        knobs: list[Knob] = []
        for instruction in self._sampling:
            decision = trace.get_decision(instruction)
            knob = knob_of(instruction, decision, seen.get(instruction, ()))
            assert knob is not None
            knobs.append(knob)
        self.knobs = tuple(knobs)
        self._settles = any(isinstance(knob, LocationKnob) for knob in knobs)
        self._sizes = np.array([knob.size for knob in knobs], dtype=np.int32)
        self._tables = [knob.table() for knob in knobs]
        self._levels = _levels(knobs)
        parts = {
            instruction: (place, knob.parts)
            for place, (instruction, knob) in enumerate(zip(self._sampling, knobs, strict=True))
            if isinstance(knob, TileKnob)
        }
        self._footprints = footprints_of(maker.untouched(), self._instructions, parts)
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
            *(f"{n}.{name}" for n, one in enumerate(self._footprints) for name in one.columns),
        )
        self.nests = tuple(
            Nest(
                width=f"{names[place]}.size{count - 1}",
                block=f"{n}.{one.columns[0]}",
                item_bytes=one.item_bytes,
                steps=one.steps,
                unit=one.width / math.prod(knobs[place].decision(0)),
            )
            for n, one in enumerate(self._footprints)
            if one.vectorized is not None
            for place, count in [one.vectorized]
        )

    @property
    def size(self) -> int:
        return math.prod(knob.size for knob in self.knobs)

    def draw(self, count: int, rng: np.random.Generator) -> Vectors:
        """Vectors at random, each choice as likely as any other of its knob."""
        return rng.integers(self._sizes, size=(count, len(self.knobs)), dtype=np.int32)

    def every(self) -> Vectors:
        """All vectors, shape (size, knobs); for small spaces."""
        choices = [range(knob.size) for knob in self.knobs]
        return np.array([*itertools.product(*choices)], dtype=np.int32).reshape(self.size, -1)

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
        found: NDArray[np.float32] = np.concatenate(
            [
                *parts,
                *sums,
                *(of_group[:, 1:-1] for of_group in inner),
                *(block[:, np.newaxis] for block in blocks),
                *(one.features(parts) for one in self._footprints),
            ],
            axis=1,
        )
        return found

    def trace(self, vector: Vector) -> Trace:
        """The sketch with a vector's decisions, to be replayed."""
        from tvm.s_tir import Trace

        return Trace(self._instructions, self._decided(vector))

    def program(self, vector: Vector, maker: ProgramMaker) -> ScheduledProgram | None:
        """The program of a vector: what replaying its trace makes, and sooner.

        None if the decisions or a postprocessor do not apply.
        """
        decided, placement = self._decided(vector), self._placement
        placed = None if placement is None else placement.schedule(decided, maker)
        if placement is None or placed is None:
            return maker.replay(self.trace(vector), 1)
        program = maker.finished(placed)
        if program is None:
            return None
        return replace(program, trace=placement.sampled(placed.trace, decided))

    def _decided(self, vector: Vector) -> dict[Instruction, Any]:
        """Each sampling instruction with what a vector decides."""
        return dict(zip(self._sampling, self.decisions_of(vector), strict=True))

    def settled(self, vector: Vector, program: ScheduledProgram) -> Vector:
        """The vector of a program that was made of another one: TVM moves impossible locations."""
        if not self._settles:
            return vector
        found = self.vector_in(program.trace)
        return vector if found is None else found

    def vector_in(self, trace: Trace) -> Vector | None:
        """The vector of a trace of this sketch; None if a decision of it is no choice here."""
        return self.vector_of(decisions_in(trace)[: len(self.knobs)])  # postprocessing may sample

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
