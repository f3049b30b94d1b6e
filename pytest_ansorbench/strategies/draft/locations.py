"""Where the blocks of a sketch can be computed, as TVM shows in schedules of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.strategies.draft.knobs import (
    INLINED,
    SAMPLES_LOCATION,
    decisions_in,
    is_sampling,
)
from pytest_ansorbench.strategies.program_maker import ProgramMaker

if TYPE_CHECKING:
    from tvm.s_tir.schedule import Instruction

_PROBES: Final = 4
_INNERMOST: Final = 1_000
"""A location further in than any: TVM takes the nearest one further out that can be."""


def probed_locations(
    instructions: Sequence[Instruction], maker: ProgramMaker
) -> Mapping[Instruction, Sequence[int]]:
    """Locations of blocks as far in as they can be, and inlined where that is possible.

    Tiles are random, since a block is not put below a loop of one step. Seeds are fixed: a resumed
    run has to find the same choices.

    Args:
        instructions: The sketch's.
        maker: Makes programs of the task.

    Returns:
        Of each instruction that samples a location, those that it has in the schedules that apply.
    """
    from tvm.s_tir import Trace

    sampling = [one for one in instructions if is_sampling(one)]
    places = {one: at for at, one in enumerate(sampling) if one.kind.name == SAMPLES_LOCATION}
    if not places:
        return {}
    asked = [_INNERMOST] * (_PROBES - 1) + [INLINED]
    traces = [Trace(instructions, dict.fromkeys(places, loop)) for loop in asked]
    seeds = range(1, _PROBES + 1)
    made = maker.map(lambda pair: maker.scheduled(*pair), zip(traces, seeds, strict=True))
    decided = [decisions_in(schedule.trace) for schedule in made if schedule is not None]
    return {one: [decisions[at] for decisions in decided] for one, at in places.items()}
