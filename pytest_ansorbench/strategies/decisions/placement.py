"""The loop at which a block is computed, without having TVM look at all the others.

`SampleComputeLocation` tries every loop that a block could be computed at, even if it is told which
one to take. For the padding of a convolution that is most of what its program takes to make. The
rules are TVM's (`CollectComputeLocation` in its analysis of schedules,
https://github.com/apache/tvm): where they lead is known from the tiles, so that `ComputeAt` alone
is left to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_ansorbench.strategies.decisions.footprints import is_reduction
from pytest_ansorbench.strategies.decisions.knobs import (
    INLINED,
    ROOT,
    SAMPLES_LOCATION,
    decisions_in,
    is_sampling,
)
from pytest_ansorbench.strategies.program_maker import ProgramMaker

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.schedule import Instruction

# Random tilings that tell how far in a block can be computed.
_PROBES: Final = 3
# A location further in than any: TVM takes the nearest one further out that can be.
_INNERMOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop around the block that reads what another block computes."""

    place: int  # of the decision on its tiles, among those of the sketch
    part: int  # which of these tiles it is, from the outside in
    reduces: bool  # whether it is one of a reduction


def possible(loops: Sequence[Loop], decisions: Sequence[Any]) -> list[int]:
    """Where TVM would compute a block, from the outside in, besides the root.

    Not at a loop of one step, not at a reduction within all others, and not at a loop within a
    reduction that is none itself.
    """
    last = max((at for at, loop in enumerate(loops) if not loop.reduces), default=-1)
    found: list[int] = []
    within_reduction = False
    for at, loop in enumerate(loops):
        if decisions[loop.place][loop.part] == 1:
            continue
        if (loop.reduces and at > last) or (within_reduction and not loop.reduces):
            break
        within_reduction = loop.reduces
        found.append(at)
    return found


class Placement:
    """The one block of a sketch whose location is open, sampled by the instruction `at`.

    `loops` are those around the block that reads it, from the outside in; `seen` the locations that
    it has in random programs, as far in as can be, and inlining if that is possible.
    """

    def __init__(
        self,
        instructions: Sequence[Instruction],
        at: int,
        loops: Sequence[Loop],
        seen: Sequence[int],
    ) -> None:
        from tvm.s_tir.schedule import Instruction, InstructionKind, LoopRV, SBlockRV

        self._at = at
        self._loops = loops
        self._sample, self._compute_at = instructions[at : at + 2]
        self.seen = {self._sample: seen}
        self._block = self._sample.inputs[0]
        self._nest = [LoopRV() for _ in loops]
        reader = SBlockRV()
        self._before = [
            *instructions[:at],
            Instruction(InstructionKind.get("GetConsumers"), [self._block], [], [reader]),
            Instruction(InstructionKind.get("GetLoops"), [reader], [], self._nest),
        ]
        self._after = instructions[at + 2 :]

    def schedule(
        self, decisions: Mapping[Instruction, Any], maker: ProgramMaker
    ) -> Schedule | None:
        """The schedule of a sketch's decisions, the same as replaying its trace makes.

        Its own trace names the loop instead of sampling it; `sampled` makes the sketch's of that.

        None if TVM has to be asked for the location: if the block is to be inlined, or the schedule
        fails, as it does where the block cannot be computed.
        """
        from tvm.s_tir import Trace

        if decisions[self._sample] < ROOT:
            return None
        location = self._location(decisions)
        computed = [] if location == ROOT else [self._computed(self._block, self._nest[location])]
        return maker.scheduled(Trace([*self._before, *computed, *self._after], decisions), 1)

    def sampled(self, trace: Trace, decisions: Mapping[Instruction, Any]) -> Trace:
        """The trace of such a schedule with the location sampled, as in the sketch.

        Mutation rules look for that, and so does what tells the sketch of a trace.
        """
        from tvm.s_tir import Trace
        from tvm.s_tir.schedule import Instruction, LoopRV

        location = self._location(decisions)
        instructions = [*trace.insts]
        before, (consumers, loops, *after) = instructions[: self._at], instructions[self._at :]
        [block] = consumers.inputs
        loop = LoopRV() if location == ROOT else loops.outputs[location]
        sample = Instruction(self._sample.kind, [block], self._sample.attrs, [loop])
        if location == ROOT:
            after = [self._computed(block, loop), *after]
        return Trace([*before, sample, *after], {**trace.decisions, sample: location})

    def _location(self, decisions: Mapping[Instruction, Any]) -> int:
        """Where TVM computes the block: at the nearest place further out, if not as decided."""
        wanted = decisions[self._sample]
        choices = possible(self._loops, [*decisions.values()])
        return max((one for one in choices if one <= wanted), default=ROOT)

    def _computed(self, block: Any, loop: Any) -> Instruction:
        from tvm.s_tir.schedule import Instruction

        return Instruction(self._compute_at.kind, [block, loop], self._compute_at.attrs, [])


def probed_locations(
    instructions: Sequence[Instruction], maker: ProgramMaker
) -> Mapping[Instruction, Sequence[int]]:
    """Locations of blocks as far in as they can be, and inlined where that is possible.

    Tiles are random, since a block is not put below a loop of one step. Seeds are fixed: a resumed
    run has to find the same choices.
    """
    from tvm.s_tir import Trace

    sampling = [one for one in instructions if is_sampling(one)]
    places = {one: at for at, one in enumerate(sampling) if one.kind.name == SAMPLES_LOCATION}
    if not places:
        return {}
    asked = [_INNERMOST] * _PROBES + [INLINED]
    traces = [Trace(instructions, dict.fromkeys(places, loop)) for loop in asked]
    seeds = range(1, len(asked) + 1)
    made = maker.map(lambda pair: maker.scheduled(*pair), zip(traces, seeds, strict=True))
    decided = [decisions_in(schedule.trace) for schedule in made if schedule is not None]
    return {one: [decisions[at] for decisions in decided] for one, at in places.items()}


def placement_of(instructions: Sequence[Instruction], maker: ProgramMaker) -> Placement | None:
    """The open location of a sketch, if it can be told without asking TVM.

    None if there is no open location or several, or if TVM has to be asked for it: if several
    blocks read what the block computes, or there are other loops than tiles around the one that
    does.
    """
    from tvm.s_tir import Trace

    found = [at for at, one in enumerate(instructions) if one.kind.name == SAMPLES_LOCATION]
    if len(found) != 1 or not _computed_next(instructions, found[0]):
        return None
    [at] = found
    tiled = Trace(instructions[:at], {})
    # Seeds are fixed: a resumed run has to find the same choices.
    schedules = [maker.scheduled(tiled, seed) for seed in range(1, _PROBES + 1)]
    made = [schedule for schedule in schedules if schedule is not None]
    if len(made) < _PROBES:
        return None
    loops = _loops_around_reader(instructions[:at], instructions[at].inputs[0], made[0])
    if loops is None:
        return None
    seen = [max([ROOT, *possible(loops, decisions_in(schedule.trace))]) for schedule in made]
    if _can_be_inlined(instructions[:at], instructions[at].inputs[0], made[0]):
        seen.append(INLINED)
    return Placement(instructions, at, loops, seen)


def _computed_next(instructions: Sequence[Instruction], at: int) -> bool:
    """Whether the instruction after one that samples a location computes its block there."""
    sample, *after = instructions[at : at + 2]
    asked = [*sample.inputs, *sample.outputs]
    return bool(after) and after[0].kind.name == "ComputeAt" and [*after[0].inputs] == asked


def _made(instructions: Sequence[Instruction], schedule: Schedule) -> dict[Any, Any]:
    """What the variables of a sketch are called in a schedule that applies these instructions."""
    return {
        ours: theirs
        for one, same in zip(instructions, schedule.trace.insts, strict=False)
        for ours, theirs in zip(one.outputs, same.outputs, strict=True)
    }


def _can_be_inlined(instructions: Sequence[Instruction], block: Any, schedule: Schedule) -> bool:
    try:
        schedule.copy().compute_inline(_made(instructions, schedule)[block])
    except Exception:  # as the engine, which takes any error for "does not apply"
        return False
    return True


def _loops_around_reader(
    instructions: Sequence[Instruction], block: Any, schedule: Schedule
) -> list[Loop] | None:
    """The loops around the block that reads another, from the outside in.

    None if several do, or if one of the loops is no tile.
    """
    made = _made(instructions, schedule)
    reading = schedule.get_consumers(made[block])
    if len(reading) != 1:
        return None
    tiles = [
        (schedule.get_sref(made[loop]), tile) for loop, tile in _tiles(instructions, made, schedule)
    ]
    found = []
    for loop in map(schedule.get_sref, schedule.get_loops(reading[0])):
        same = [tile for one, tile in tiles if one.same_as(loop)]
        if len(same) != 1:
            return None
        found += same
    return found


def _tiles(
    instructions: Sequence[Instruction], made: Mapping[Any, Any], schedule: Schedule
) -> list[tuple[Any, Loop]]:
    """The loops that a sketch's tiles become, and which tiles these are."""
    reduces: dict[Any, bool] = {}
    factors: dict[Any, tuple[int, int]] = {}
    found = []
    places = 0
    for one in instructions:
        kind = one.kind.name
        if is_sampling(one):
            factors |= {factor: (places, part) for part, factor in enumerate(one.outputs)}
            places += 1
        elif kind == "GetLoops":
            variables = schedule.get(made[one.inputs[0]]).iter_vars
            if len(variables) == len(one.outputs):
                kinds = [is_reduction(variable) for variable in variables]
                reduces |= dict(zip(one.outputs, kinds, strict=True))
        elif kind == "Split" and one.inputs[0] in reduces:
            found += [
                (loop, Loop(*factors[factor], reduces[one.inputs[0]]))
                for loop, factor in zip(one.outputs, one.inputs[1:], strict=True)
                if factor in factors
            ]
    return found
