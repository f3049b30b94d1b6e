"""What building and running a program came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_ansorbench.records import Remeasurement, TrialStatus


@dataclass(frozen=True)
class Built:
    """A program after the build phase.

    Attributes:
        status: `ok`, `build-error` or `build-timeout`.
        build_s: Seconds until there was machine code, or none.
        error: First line of the failure; empty if `ok`.
        peak_memory_mb: Peak memory of a process that ended in failure; 0 if `ok`.
        handle: The engine's own hold on the compiled program; None unless `ok`.
    """

    status: TrialStatus
    build_s: float
    error: str = ""
    peak_memory_mb: float = 0.0
    handle: Any = None


@dataclass(frozen=True)
class Measured:
    """A program after the run phase.

    Attributes:
        status: `ok`, or what went wrong in building or running.
        latencies_s: Seconds per call, one entry a sample; empty unless `ok`.
        error: First line of the failure; empty if `ok`.
        build_s: Seconds it took to compile.
        run_s: Seconds it took to measure and check; 0 if it did not get that far.
        peak_memory_mb: Peak memory of its process.
        kept: The program, which took the lead and waits to be an incumbent until it is discarded;
            None if it did not, or the measurement policy compares nothing.
        lost_incumbent: Whether the incumbent could not be run, so that another one is needed.
    """

    status: TrialStatus
    latencies_s: tuple[float, ...] = ()
    error: str = ""
    build_s: float = 0.0
    run_s: float = 0.0
    peak_memory_mb: float = 0.0
    kept: Built | None = None
    lost_incumbent: bool = False

    @classmethod
    def not_run(cls, built: Built) -> Measured:
        """The outcome of a program that failed to compile."""
        return cls(
            built.status,
            error=built.error,
            build_s=built.build_s,
            peak_memory_mb=built.peak_memory_mb,
        )


@dataclass(frozen=True)
class MeasuredInTurn:
    """A program after it was measured side by side with others.

    Attributes:
        status: `ok`, or what went wrong in building or running, in whichever set of processes.
        latencies_s: Seconds per call, one entry a slice; empty unless `ok`.
        sets: The set of processes of each slice, counted from 0.
        places: Place of each slice in the order of all slices of all programs, from 0.
        error: First line of the failure; empty if `ok`.
    """

    status: TrialStatus
    latencies_s: tuple[float, ...] = ()
    sets: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    error: str = ""

    def remeasured(self, trial: int | None) -> Remeasurement:
        """What a run keeps of it.

        Args:
            trial: Index of the program's trial; None for a network.
        """
        return Remeasurement(
            trial, self.status, self.latencies_s, self.error, self.sets, self.places
        )


@dataclass(frozen=True)
class Rebuilt:
    """A saved kernel as one toolchain makes it, measured side by side with the others'.

    Attributes:
        measured: The measurement.
        build_s: Seconds to compile it, one entry a set of processes, nothing else running.
        code_bytes: Size of its object file; None if it was not compiled.
    """

    measured: MeasuredInTurn
    build_s: tuple[float, ...] = ()
    code_bytes: int | None = None
