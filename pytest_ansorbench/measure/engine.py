"""What the rest of the package asks of a measurement engine.

`LocalEngine` measures on this machine. Whatever else satisfies `Engine`, such as one that
measures on another machine, takes its place: searches, experiments and sessions know no more
of it. `tests/measure/engine_contract.py` is the test suite that an engine has to pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ansorbench.measure.outcomes import AfterSet, Built, Computed, Measured
from pytest_ansorbench.measure.policy import Measurement
from pytest_ansorbench.measure.program import Buildable, Program
from pytest_ansorbench.measure.side_by_side import SideBySide
from pytest_ansorbench.records import MachineState, Remeasurement

if TYPE_CHECKING:
    from tvm.target import Target

    from pytest_ansorbench.workloads.case import Check


class EngineError(Exception):
    """The engine cannot measure, or cannot go on measuring; the message holds the cause."""


class UntunedError(RuntimeError):
    """A program that cannot be compiled or run even as it is; the message says why."""


class ElsewhereError(Exception):
    """A case or a strategy that fails in another process, or does not get there; it says how."""


class CrashedError(UntunedError):
    """A program that fails when it is called: other inputs may do."""


class Engine(AbstractContextManager["Engine", None], Protocol):
    """Compiles programs, calls them, and knows the machine that does so.

    An engine is made cheaply, and starts its processes with `start`, or as a context manager. All
    arms of an experiment share one engine, so that none is measured by other means than the others.
    A program that fails is an outcome with a status; an exception means that the engine itself is
    broken. An engine is used by one thread at a time.
    """

    @property
    def target(self) -> Target:
        """TVM target that programs are compiled for, with its `num-cores`, or its host's."""

    @property
    def machine(self) -> Mapping[str, Any]:
        """Description of the machine that measures, `target` included: JSON values.

        It is the same at any time, known before `start`, and recorded with every repeat. Its keys
        are those of `measure.local.machine.describe_machine`; where a GPU measures, `gpu` is what
        `measure.local.gpu.describe_gpu` tells of it.
        """

    @property
    def capacity(self) -> int:
        """Programs to build before they are run or discarded, at most; at least 1."""

    @property
    def restarts(self) -> int:
        """How often what had been started was found dead and replaced; never falls."""

    def start(self) -> None:
        """Get ready to build, which takes seconds. Does nothing if it is ready.

        May be called again after `close`.

        Raises:
            EngineError: It cannot be started.
        """

    def close(self) -> None:
        """End all processes and let go of all programs. Does nothing if that is done."""

    def observe(self) -> MachineState:
        """How fast cores exchange data, and what else the machine does. Takes part of a second."""

    def build(
        self, programs: Sequence[Program], check: Check | None, limit_s: float | None = None
    ) -> list[Built]:
        """Compile programs, in parallel where that can be.

        Args:
            programs: No more than `capacity`.
            check: Their inputs and expected output, if known.
            limit_s: Seconds that each may take; None for no other limit than the engine's own,
                which holds in any case.

        Returns:
            One outcome per program, in order. Each one that is `ok` holds resources until it
            is run or discarded, or the engine is closed.

        Raises:
            EngineError: The engine cannot go on.
        """

    def run(
        self,
        built: Built,
        measurement: Measurement,
        *,
        best_s: float | None = None,
        incumbent: Built | None = None,
    ) -> Measured:
        """Measure a program that was built, and let go of it unless it is kept.

        If the policy is a `ComparingMeasurement`, a program that takes the lead may be `kept`: it
        then waits, at rest, and may be given as `incumbent` to later runs, any number of times,
        until it is discarded. Programs that are kept do not count against `capacity`.

        Args:
            built: As `build` returned it; if building failed, so did the trial.
            measurement: How long to run it; its own errors pass, and the program can then be
                discarded.
            best_s: Latency of the task's best valid trial so far; None if there is none.
            incumbent: The program of that trial, as it was kept or built again; stays the
                caller's to discard. Needs `best_s`. An incumbent that fails costs the trial
                nothing but time: the program is then measured alone.

        Returns:
            The trial's outcome. A program that would be the best so far is `ok` only if its
            output is right.

        Raises:
            EngineError: The engine cannot go on.
        """

    def discard(self, built: Built) -> None:
        """Let go of a program that was kept, or will not be run. Does nothing if that is done."""

    def measure_side_by_side(
        self, programs: Sequence[Buildable], check: Check | None, effort: SideBySide
    ) -> list[Remeasurement]:
        """Build programs and measure them against each other, slice by slice in turn.

        A drift of the machine's speed then meets all of them alike. Each program starts afresh
        in every set, in a process that has run nothing else. In each turn every program that has
        not failed has one slice, in the order that the effort says; a program that fails is out.
        Outputs are checked at the end of each set.

        Args:
            programs: Kernels of one task, or versions of one network; no more than `capacity`.
            check: Inputs and expected output, if known.
            effort: How long a slice is, and when it is enough.

        Returns:
            One outcome per program, in order; its `trial` is None. Slices at the same index of
            two that are `ok` are of the same turn.

        Raises:
            EngineError: The engine cannot go on.
        """

    def measure_sets(
        self,
        programs: Sequence[Buildable],
        check: Check | None,
        effort: SideBySide,
        before: AfterSet | None = None,
    ) -> Iterator[AfterSet]:
        """Measure programs side by side, and say after each set what all sets so far gave.

        A measurement that was interrupted goes on here: the sets `before`, their turns and their
        seconds count as if they had been measured now. It yields nothing if they were enough.
        Other arguments are those of `measure_side_by_side`.

        Raises:
            EngineError: The engine cannot go on.
        """

    def outputs(self, program: Program, check: Check) -> Computed:
        """Compile a program and call it on a check's inputs, then on its fresh ones.

        Raises:
            UntunedError: It cannot be compiled or run; CrashedError if it fails when called.
            EngineError: The engine cannot go on.
        """
