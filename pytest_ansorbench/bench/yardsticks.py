"""Baselines of a case's kernels besides each other, measured once a machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_ansorbench.cores import pinned_to, threads_of
from pytest_ansorbench.environment import device_name
from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.records import (
    PEERS,
    Implementation,
    Operands,
    ReferenceKernel,
    Yardsticks,
)
from pytest_ansorbench.storage import fingerprint, read_peak, write_peak
from pytest_ansorbench.workloads.dataflow import moved_elements
from pytest_ansorbench.workloads.networks.apply import with_schedules
from pytest_ansorbench.yardsticks import PeerProgram, measure_peak, own_kernel, peer_program
from pytest_ansorbench.yardsticks.first_candidate import first_candidate
from pytest_ansorbench.yardsticks.own_kernels import tvm_version

if TYPE_CHECKING:
    from tvm import IRModule
    from tvm.target import Target

    from pytest_ansorbench.bench.prepared import PreparedCase
    from pytest_ansorbench.measure.engine import Engine


_LONG_S: Final = 1.0
"""Seconds of a network's first call untuned that tell what a call takes. Measured as others are, it
would be compiled once more and called some ten times."""


@dataclass(frozen=True)
class YardstickPlan:
    """Which baselines kernels are compared with, besides each other."""

    roofline: bool = False  # whether against what the machine can do
    implementations: tuple[Implementation, ...] = ()  # other implementations
    cores: Sequence[int] | None = None  # cores that these may run on; None for kernels' own

    def of(
        self, prepared: PreparedCase, target: Target, note: Callable[[str], None]
    ) -> YardstickPlan:
        """What of it a case is compared with.

        Peaks are those of 32-bit floats and, on CPUs, of bytes, and no bounds where numbers are of
        other narrow types or of both, or where a rewrite may save operations, which count.
        """
        if not self.roofline:
            return self
        known = ("float32",) if device_name(target) == "cuda" else ("float32", "int8")
        if getattr(prepared.case, "original", None) is not None:
            reason = "its rewrite may save operations that count"
        elif _operands(prepared) not in known:
            reason = f"it has {' and '.join(sorted(_types(prepared)))}"
        else:
            return self
        note(f"{prepared.case.id}  not held against the machine's peak: {reason}")
        return replace(self, roofline=False)

    def is_met_by(self, found: Yardsticks | None) -> bool:
        """Whether there is nothing left to be measured before a search."""
        if found is None:
            return not self.roofline and not self._own
        there = {kernel.implementation for kernel in found.kernels}
        return (found.peak is not None or not self.roofline) and there >= {*self._own}

    def measured(
        self, prepared: PreparedCase, engine: Engine, storage: Path, note: Callable[[str], None]
    ) -> Yardsticks:
        """Measure what was asked for, all but what takes turns with winners.

        The peak of a machine's cores is kept in the folder, and measured only if it is not there.
        """
        kernels = []
        for implementation in self._own:
            note(f"{prepared.case.id}  timing {implementation}")
            kernels.append(_own_kernel(implementation, prepared, engine))
        machine = fingerprint(engine.machine)
        peak = None
        if self.roofline and (operands := _operands(prepared)) is not None:
            cores = pinned_to(self.cores, threads_of(engine.target))
            peak = read_peak(storage, machine, operands, cores)
            if peak is None:
                note("measuring what this machine can do at most")
                peak = measure_peak(engine, operands)
                if peak is None:
                    note("that cannot be measured within the limits of a kernel")
                else:
                    write_peak(storage, machine, peak, cores)
        return Yardsticks(machine, _argument_bytes(prepared), peak, tuple(kernels))

    def peers(
        self, prepared: PreparedCase, engine: Engine, folder: Path
    ) -> tuple[PeerProgram, ...]:
        """The other libraries that take turns with a case's winners.

        They keep their files in the folder, one for each case.
        """
        check = prepared.check
        assert check is not None
        return tuple(
            peer_program(
                one,
                prepared.case,
                check,
                device=device_name(engine.target),
                threads=threads_of(engine.target),
                cores=self.cores,
                folder=folder,
            )
            for one in taking_turns(self.implementations)
        )

    @property
    def _own(self) -> tuple[Implementation, ...]:
        """TVM's own programs, which are timed once."""
        return tuple(one for one in self.implementations if one not in PEERS)


def taking_turns(implementations: Sequence[Implementation]) -> tuple[Implementation, ...]:
    """Those that take turns with winners: other libraries."""
    return tuple(one for one in implementations if one in PEERS)


def _own_kernel(
    implementation: Implementation, prepared: PreparedCase, engine: Engine
) -> ReferenceKernel:
    tasks = prepared.tasks
    scheduled: list[IRModule | None] = [None] * len(tasks)
    if implementation == "first":
        scheduled = [first_candidate(task.mod, engine.target) for task in tasks]
        if prepared.network is None and scheduled[0] is None:
            return ReferenceKernel(implementation, "", (), "no candidate applies")
    if prepared.network is not None:
        untuned_s = prepared.network.untuned_s
        if implementation == "untuned" and untuned_s >= _LONG_S:
            return ReferenceKernel(implementation, tvm_version(engine), (untuned_s,))
        mod = with_schedules(prepared.network.mod, tasks, scheduled)
        return own_kernel(implementation, engine, Program.network(mod), prepared.check)
    program = Program.operator(scheduled[0] or tasks[0].mod)
    return own_kernel(implementation, engine, program, prepared.check)


def _operands(prepared: PreparedCase) -> Operands | None:
    """What a case multiplies, where a peak is known to bound that."""
    types = _types(prepared)
    if not any(np.dtype(one).itemsize < 4 for one in types):
        return "float32"
    return "int8" if types <= {"int8", "uint8", "int32"} else None


def _types(prepared: PreparedCase) -> set[str]:
    """Types of numbers that a case's tasks take or give."""
    return {
        dtype
        for task in prepared.tasks
        for dtype, _ in Program.operator(task.mod).shapes
        if dtype != "bool"
    }


def _argument_bytes(prepared: PreparedCase) -> int:
    """Bytes of all arguments, inputs, weights and output; of an operator those that are moved."""
    if prepared.network is not None:
        check = prepared.network.check
        outputs = (output.expected for output in check.outputs)
        return sum(array.nbytes for array in (*check.inputs, *outputs))
    from tvm import DataType

    mod = prepared.tasks[0].mod
    inputs = prepared.check.inputs if prepared.check is not None else ()
    kinds = [DataType(dtype) for dtype, _ in Program.operator(mod).shapes]
    moved = zip(kinds, moved_elements(mod, inputs), strict=True)
    return -(-sum(count * int(kind.bits) * int(kind.lanes) for kind, count in moved) // 8)
