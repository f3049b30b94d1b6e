"""Design spaces: the rules that make a task's sketches, and programs of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from tvm.s_tir.meta_schedule.schedule_rule import ScheduleRule
    from tvm.s_tir.meta_schedule.space_generator import SpaceGenerator
    from tvm.target import Target

# Of `LimitedSpace`, from the outside in: three tiles of each spatial loop, reductions untiled.
_STRUCTURE: Final = "SSRS"
# As many float32 as the widest vector of a CPU has.
_MOST_INNER: Final = 16


class SpacePolicy(Protocol):
    """Parameters of a design space: best a frozen dataclass, so that a strategy can be shared."""

    def start(self, target: Target) -> SpaceGenerator:
        """A new generator of sketches, for one task of one run. This costs no search time.

        Args:
            target: TVM target of the search.

        Returns:
            E.g. MetaSchedule's `PostOrderApply`, with rules that nothing else has: they are
            initialized with the task. Schedule rules, postprocessors and mutation rules that it
            is not given are the target's own. A task has to get at least one sketch.
        """
        ...


@dataclass(frozen=True)
class TargetSpace:
    """MetaSchedule's own: all rules are the target's, and so are its tensor intrinsics."""

    def start(self, target: Target) -> SpaceGenerator:
        """A generator that is given no rules."""
        from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

        return PostOrderApply()


@dataclass(frozen=True)
class LimitedSpace:
    """A space like that of a template written by hand, as the ablation of Ansor limits it.

    (https://arxiv.org/abs/2006.06762, section 7.1.) Loops have fewer tiles, the innermost ones are
    small, and nothing is left to choose of where a block is computed: there are no caches of what
    is written, no `rfactor`, no sampled locations. All else is the target's own, its tensor
    intrinsics among it.
    """

    def start(self, target: Target) -> SpaceGenerator:
        """A generator with the target's rules, less some, and another tiling."""
        from tvm.s_tir.meta_schedule.schedule_rule import (
            AddRFactor,
            MultiLevelTiling,
            RandomComputeLocation,
        )
        from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

        rules = [
            MultiLevelTiling(_STRUCTURE, max_innermost_factor=_MOST_INNER)
            if isinstance(rule, MultiLevelTiling)
            else rule
            for rule in stock_rules(target)
            if not isinstance(rule, (AddRFactor, RandomComputeLocation))
        ]
        return PostOrderApply(sch_rules=rules)


def stock_rules(target: Target) -> list[ScheduleRule]:
    """MetaSchedule's schedule rules for a target, new ones in their order, to be changed.

    Those for its tensor intrinsics are among them. TVM's `ScheduleRule.create` knows kinds of
    targets without these: on a CPU with VNNI its rules for `llvm` never use VNNI.

    Args:
        target: TVM target.
    """
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.space_generator import PostOrderApply

    # Only a context has TVM look up what a target's own rules are. It needs no program for that,
    # as mutation rules would.
    space = PostOrderApply(postprocs=[], mutator_probs={})
    return list(TuneContext(target=target, space_generator=space).space_generator.sch_rules)
