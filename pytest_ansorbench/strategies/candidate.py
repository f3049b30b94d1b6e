"""A candidate: a program that a strategy proposes for measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.s_tir import Schedule, Trace
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo
    from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate


@dataclass(frozen=True, eq=False)
class Candidate:
    """A program proposed for measurement, with a note that its proposer attaches to it.

    Two candidates are equal only if they are the same object; compare their fingerprints to find
    equal programs.

    Attributes:
        measure_candidate: The program as MetaSchedule's engine, cost models and feature
            extractors take it. None if there is no program, but the record of one.
        payload: Anything the proposer wants to know of this candidate later, as a JSON value:
            dict with text keys, list, str, int, finite float, bool or None. The candidate that
            `Proposer.learn` and, from a journal, `Proposer.recall` get has an equal payload.
        sampled: The trace that makes the same program as the sketch's instructions do, if others
            made the schedule; None if it is the schedule's own.
    """

    measure_candidate: MeasureCandidate | None
    payload: Any = None
    sampled: Trace | None = None

    @classmethod
    def from_schedule(
        cls, schedule: Schedule, payload: Any = None, sampled: Trace | None = None
    ) -> Candidate:
        """Make a candidate of a schedule; its arguments are read off its function `main`.

        Args:
            schedule: A finished schedule, postprocessing included. One without a trace is fine:
                then its module is what a journal keeps.
            payload: The proposer's own note, a JSON value.
            sampled: See above.
        """
        from tvm.s_tir.meta_schedule.arg_info import ArgInfo
        from tvm.s_tir.meta_schedule.search_strategy import MeasureCandidate

        args_info = ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
        return cls(MeasureCandidate(schedule, args_info), payload, sampled)

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        assert self.measure_candidate is not None
        return self.measure_candidate.sch

    @property
    def trace(self) -> Trace:
        """How the program came from its sketch, with all decisions: what is recorded of it."""
        return self.schedule.trace if self.sampled is None else self.sampled

    @property
    def mod(self) -> IRModule:
        """The scheduled module."""
        return self.schedule.mod

    @property
    def fingerprint(self) -> int:
        """Structural hash of its module."""
        from tvm_ffi import structural_hash

        return int(structural_hash(self.mod))

    @property
    def args_info(self) -> Sequence[ArgInfo]:
        """Data type and shape of each argument, inputs then output."""
        assert self.measure_candidate is not None
        args_info: Sequence[ArgInfo] = self.measure_candidate.args_info
        return args_info
