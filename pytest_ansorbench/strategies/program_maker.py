"""Makes programs: sketches, recorded traces and mutated traces become postprocessed schedules."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_ansorbench.strategies.candidate import Candidate

if TYPE_CHECKING:
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.meta_schedule import TuneContext
    from tvm.s_tir.meta_schedule.mutator import Mutator

_Argument = TypeVar("_Argument")
_Outcome = TypeVar("_Outcome")

# Items that a thread takes at a time, where there are enough of them for all threads: one by one,
# handing them out costs a tenth of the work.
_BLOCK: Final = 16

# Of TVM's random generator.
_LARGEST_SEED: Final = 2**31 - 2


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledProgram:
    """A program as a schedule made it.

    Attributes:
        schedule: How it was made, postprocessing included; `schedule.mod` is the module.
        fingerprint: Structural hash of the module; equal programs have equal fingerprints.
        trace: How it came from its sketch; see `Candidate.trace`.
    """

    schedule: Schedule
    fingerprint: int
    trace: Trace

    def candidate(self, payload: Any = None) -> Candidate:
        """The program as a candidate; see `Candidate.from_schedule`."""
        return Candidate.from_schedule(self.schedule, payload, self.trace)


class ProgramMaker:
    """Makes programs of one task, e.g. `Setup.context`, on as many threads as that has.

    TVM releases Python's lock while it works, so two threads make programs nearly twice as fast
    as one, and about as fast as MetaSchedule's own threads. Nothing depends on which thread comes
    first: equal arguments give equal programs in equal order.

    Attributes:
        context: The task.
        mod: The task's program before it is scheduled.
    """

    def __init__(self, context: TuneContext) -> None:
        from tvm.s_tir import Schedule

        self.context = context
        self.mod = context.mod
        self._threads = context.num_threads
        self._postprocs = list(context.space_generator.postprocs)
        self._untouched = Schedule(self.mod, debug_mask="none", error_render_level="none")
        self._copying = threading.Lock()  # a copy draws a seed from its original

    def sample(self, sketches: Sequence[Trace], seeds: Sequence[int]) -> list[ScheduledProgram]:
        """Draw all decisions of sketches at random.

        Args:
            sketches: Traces without decisions, as `undecided` makes them; one per program.
            seeds: One per program, as `draw_seed` draws them.

        Returns:
            The programs in order, without those whose trace or postprocessing does not apply.
        """
        pairs = zip(sketches, seeds, strict=True)
        return _valid(self.map(lambda pair: self.replay(*pair), pairs))

    def recall(self, traces: Sequence[Trace]) -> list[ScheduledProgram]:
        """Replay traces with all their decisions, such as those of a database's records.

        Returns:
            The programs in order, without those whose trace or postprocessing does not apply.
        """
        return _valid(self.map(lambda trace: self.replay(trace, 1), traces))

    def replay(self, trace: Trace, seed: int) -> ScheduledProgram | None:
        """Turn one trace into a program, as the engine does; this alone uses no threads.

        Args:
            trace: With or without decisions; missing ones are drawn.
            seed: Seed of these draws, at least 1.

        Returns:
            The program, or None if the trace or a postprocessor does not apply.
        """
        schedule = self.scheduled(trace, seed)
        return None if schedule is None else self.finished(schedule)

    def finished(self, schedule: Schedule) -> ScheduledProgram | None:
        """Postprocess what `scheduled` makes; None if a postprocessor does not apply."""
        from tvm_ffi import structural_hash

        try:
            schedule.enter_postproc()
            if not all(postproc.apply(schedule) for postproc in self._postprocs):
                return None
        except Exception:  # as the engine, which takes any error for "does not apply"
            return None
        return ScheduledProgram(schedule, structural_hash(schedule.mod), schedule.trace)

    def scheduled(self, trace: Trace, seed: int) -> Schedule | None:
        """Apply one trace as `replay` does, without postprocessing; None if it does not apply."""
        schedule = self.untouched()
        schedule.seed(seed)
        try:
            trace.apply_to_schedule(schedule, remove_postproc=True)
        except Exception:  # as the engine, which takes any error for "does not apply"
            return None
        return schedule

    def untouched(self) -> Schedule:
        """A schedule of the task's program that nothing was done with; any thread may ask.

        It is a copy, which takes 0.01 ms; to make one takes up to 1 ms.
        """
        with self._copying:
            return self._untouched.copy()

    def map(
        self, work: Callable[[_Argument], _Outcome], items: Iterable[_Argument]
    ) -> list[_Outcome]:
        """Call a function on every item, on the threads.

        Args:
            work: What to do with one item, e.g. mutate a trace and `replay` it.
            items: The items. What is random has to be decided by them, e.g. by a seed in each.

        Returns:
            The outcomes, in order of the items.
        """
        listed = list(items)
        size = max(1, min(_BLOCK, math.ceil(len(listed) / self._threads)))
        blocks = [listed[i : i + size] for i in range(0, len(listed), size)]
        with ThreadPoolExecutor(self._threads) as threads:
            done = threads.map(lambda block: [work(item) for item in block], blocks)
            return [outcome for outcomes in done for outcome in outcomes]


def _valid(programs: Iterable[ScheduledProgram | None]) -> list[ScheduledProgram]:
    return [program for program in programs if program is not None]


def mutate(mutator: Mutator, trace: Trace, seed: int) -> Trace | None:
    """Apply a mutation rule once, with a seed, which `Mutator.apply` does not take.

    Args:
        mutator: The rule, one of `context.space_generator.mutator_probs`.
        trace: The trace to mutate; it stays as it is.
        seed: Seed of the rule's draws, at least 1.

    Returns:
        The mutated trace, or None if the rule has nothing to change in it.
    """
    from tvm_ffi import get_global_func

    return get_global_func("s_tir.meta_schedule.MutatorApply")(mutator, trace, seed)


def undecided(sketches: Sequence[Schedule]) -> list[Trace]:
    """Sketches as traces without decisions, so that replaying them draws new ones.

    Args:
        sketches: The design space, e.g. `Setup.sketches`.
    """
    from tvm.s_tir import Trace

    return [Trace(sketch.trace.simplified(True).insts, {}) for sketch in sketches]


def draw_seed(source: random.Random) -> int:
    """A seed for TVM's random generator, which takes 1 to 2^31 - 2."""
    return source.randint(1, _LARGEST_SEED)
