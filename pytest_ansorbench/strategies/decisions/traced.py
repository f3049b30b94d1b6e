"""Design spaces whose points are traces of TVM's, which become programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ansorbench.strategies.candidate import Candidate
from pytest_ansorbench.strategies.decisions.design_space import DesignSpace
from pytest_ansorbench.strategies.decisions.footprints import footprints_of
from pytest_ansorbench.strategies.decisions.gpu_blocks import GpuBlock
from pytest_ansorbench.strategies.decisions.knobs import (
    LocationKnob,
    TileKnob,
    decisions_in,
    is_sampling,
    knob_of,
)
from pytest_ansorbench.strategies.decisions.placement import placement_of, probed_locations
from pytest_ansorbench.strategies.decisions.registers import Registers, registers_of
from pytest_ansorbench.strategies.decisions.space import DecisionSpace, Point, Vector
from pytest_ansorbench.strategies.program_maker import ProgramMaker, ScheduledProgram

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.schedule import Instruction


class TracedSpace(DecisionSpace):
    """The decisions of a sketch, and its instructions."""

    def __init__(self, index: int, sketch: Schedule, maker: ProgramMaker) -> None:
        """Find the decisions, with a few random schedules where choices depend on each other."""
        trace = sketch.trace.simplified(True)
        self._instructions = list(trace.insts)
        self._sampling = [one for one in self._instructions if is_sampling(one)]
        placement = self._placement = placement_of(self._instructions, maker)
        seen = placement.seen if placement else probed_locations(self._instructions, maker)
        knobs = [knob_of(one, trace.get_decision(one), seen.get(one, ())) for one in self._sampling]
        self._settles = any(isinstance(knob, LocationKnob) for knob in knobs)
        parts = {
            instruction: (place, knob.parts)
            for place, (instruction, knob) in enumerate(zip(self._sampling, knobs, strict=True))
            if isinstance(knob, TileKnob)
        }
        footprints = footprints_of(maker.untouched(), self._instructions, parts)
        target = maker.context.target
        kind = str(target.kind.name)
        blocks = GpuBlock.of(footprints, target)
        super().__init__(index, knobs, footprints, blocks, "" if kind == "llvm" else kind)

    def trace(self, vector: Vector) -> Trace:
        """The sketch with a vector's decisions, to be replayed."""
        from tvm.s_tir import Trace

        return Trace(self._instructions, self._decided(vector))

    def program(self, vector: Vector, maker: ProgramMaker) -> ScheduledProgram | None:
        """The program of a vector: what replaying its trace makes, and sooner.

        None if the decisions or a postprocessor do not apply.
        """
        if not self.allowed(np.array([vector], dtype=np.int32)).all():
            return None
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


class TracedDesign(DesignSpace):
    """All sketches of a task, and what makes programs of their points."""

    def __init__(self, spaces: Sequence[TracedSpace], maker: ProgramMaker) -> None:
        super().__init__(spaces)
        self.maker = maker
        self._traced = spaces

    @classmethod
    def of(cls, sketches: Sequence[Schedule], maker: ProgramMaker) -> TracedDesign:
        """Find the decisions of sketches, e.g. `Setup.sketches`; this makes some programs."""
        return cls([TracedSpace(at, sketch, maker) for at, sketch in enumerate(sketches)], maker)

    def program(self, point: Point) -> ScheduledProgram | None:
        """The program of a point; None if its decisions or a postprocessor do not apply."""
        index, vector = point
        return self._traced[index].program(vector, self.maker)

    def programs(self, points: Sequence[Point]) -> list[tuple[Point, ScheduledProgram] | None]:
        """The programs of points, on all threads, each with the point that TVM made of its own."""
        made = self.maker.map(self.program, points)
        return [
            None if program is None else (self._settled(point, program), program)
            for point, program in zip(points, made, strict=True)
        ]

    def fingerprint(self, candidate: Candidate) -> int:
        """See `Candidate.fingerprint`."""
        return candidate.fingerprint

    @cached_property
    def registers(self) -> Registers | None:
        return registers_of(self.maker.context.target)

    def _settled(self, point: Point, program: ScheduledProgram) -> Point:
        index, vector = point
        return index, self._traced[index].settled(vector, program)
