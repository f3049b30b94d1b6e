"""Programs of a population: how sketches, records and mutated traces become schedules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from pytest_ansorbench.strategies.rule_policy import BY_WEIGHT

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.mutator import Mutator
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

_Argument = TypeVar("_Argument")
_Outcome = TypeVar("_Outcome")

_BLOCK: Final = 16
"""Items that a thread takes at a time: one by one, the handing out costs a tenth of the work."""

_LARGEST_SEED: Final = 2**31 - 2
"""Of TVM's random generator."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """How a program came from its parent.

    Attributes:
        rule: Index of the mutation rule.
        predicted: Whether a rule policy chose the rule for this parent, or the stock weights did.
        parent_score: The cost model's score of the parent.
    """

    rule: int
    predicted: bool
    parent_score: float


@dataclass(slots=True)
class Program:
    """One member of a population.

    Attributes:
        schedule: The program, postprocessed.
        fingerprint: Structural hash; programs that are equal have the same.
        mutation: How it came from its parent, or None if it was sampled from a sketch or taken
            from the database.
        score: The cost model's score; None until the program is scored.
        next_rule: Rule to mutate it by, as a rule policy chose when it was scored.
    """

    schedule: Schedule
    fingerprint: int
    mutation: Mutation | None = None
    score: float | None = None
    next_rule: int = BY_WEIGHT


class ProgramMaker:
    """Makes programs of one task, on as many threads as its `TuneContext` has.

    TVM gives Python's lock back while it works, so that two threads make programs nearly twice
    as fast as one, and about as fast as MetaSchedule's own threads.
    """

    def __init__(self, context: TuneContext) -> None:
        self._mod = context.mod
        self._threads = context.num_threads
        self._postprocs = list(context.space_generator.postprocs)

    def sample(self, sketches: Sequence[Trace], seeds: Sequence[int]) -> list[Program]:
        """Fill sketches in at random; those that cannot be are left out.

        Args:
            sketches: A trace without decisions for each program.
            seeds: One for each.
        """
        pairs = zip(sketches, seeds, strict=True)
        return self._made(self.each(lambda pair: self.replay(*pair), pairs))

    def recall(self, traces: Sequence[Trace]) -> list[Program]:
        """Replay traces with all their decisions; those that fail are left out."""
        return self._made(self.each(lambda trace: self.replay(trace, 1), traces))

    def each(
        self, work: Callable[[_Argument], _Outcome], items: Iterable[_Argument]
    ) -> list[_Outcome]:
        """Do something for each item, on the threads; outcomes in order of the items."""
        listed = list(items)
        blocks = [listed[i : i + _BLOCK] for i in range(0, len(listed), _BLOCK)]
        with ThreadPoolExecutor(self._threads) as threads:
            done = threads.map(lambda block: [work(item) for item in block], blocks)
            return [outcome for outcomes in done for outcome in outcomes]

    def replay(self, trace: Trace, seed: int) -> Program | None:
        """Turn a trace into a program, as the engine does.

        Args:
            trace: With or without decisions; what is not decided is drawn.
            seed: For these draws, from 1.

        Returns:
            The program, or None if the trace or a postprocessor does not apply.
        """
        from tvm.s_tir import Schedule
        from tvm_ffi import structural_hash

        schedule = Schedule(self._mod, seed=seed, debug_mask="none", error_render_level="none")
        try:
            trace.apply_to_schedule(schedule, remove_postproc=True)
            schedule.enter_postproc()
            if not all(postproc.apply(schedule) for postproc in self._postprocs):
                return None
        except Exception:  # as the engine, which takes any error for "does not apply"
            return None
        return Program(schedule, structural_hash(schedule.mod))

    @staticmethod
    def _made(programs: Iterable[Program | None]) -> list[Program]:
        return [program for program in programs if program is not None]


def mutate(mutator: Mutator, trace: Trace, seed: int) -> Trace | None:
    """Apply a mutation rule once, with a seed, which `Mutator.apply` does not take.

    Args:
        mutator: The rule.
        trace: What to mutate.
        seed: For the rule's draws, from 1.

    Returns:
        The mutated trace, or None if the rule has nothing to change in it.
    """
    from tvm_ffi import get_global_func

    mutated: Trace | None = get_global_func("s_tir.meta_schedule.MutatorApply")(
        mutator, trace, seed
    )
    return mutated


def undecided(sketches: Sequence[Schedule]) -> list[Trace]:
    """Sketches as traces without decisions, so that replaying them draws new ones."""
    from tvm.s_tir import Trace

    return [Trace(sketch.trace.simplified(True).insts, {}) for sketch in sketches]


def draw_seed(source: random.Random) -> int:
    """A seed for TVM's random generator."""
    return source.randint(1, _LARGEST_SEED)


def as_candidate(schedule: Schedule) -> MeasureCandidate:
    """A schedule with what it takes to run it."""
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

    return MeasureCandidate(schedule, ArgInfo.from_entry_func(schedule.mod, remove_preproc=True))
