"""The first candidate of MetaSchedule's own rules: what sampling once gives, without a search."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.strategies.program_maker import ProgramMaker, undecided
from pytest_ansorbench.strategies.space_policy import TargetSpace

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.target import Target

_SEEDS: Final = range(1, 65)
"""Draws of each sketch; that none passes the postprocessors is rare enough to be told."""


def first_candidate(mod: IRModule, target: Target) -> IRModule | None:
    """The first program of a task's design space, by the rules that the target has.

    Its first sketch with decisions drawn with a seed of 1; where a postprocessor does not apply,
    that of the next sketch, then the next seed. Equal tasks have equal programs.

    Returns:
        The scheduled module; None if none of the draws applies.
    """
    from tvm.s_tir.meta_schedule import TuneContext

    context = TuneContext(
        mod, target=target, space_generator=TargetSpace().start(target), num_threads=1, rand_state=1
    )
    sketches, maker = undecided(context.generate_design_space()), ProgramMaker(context)
    made = (maker.replay(sketch, seed) for seed, sketch in product(_SEEDS, sketches))
    program = next((program for program in made if program is not None), None)
    return None if program is None else program.schedule.mod
