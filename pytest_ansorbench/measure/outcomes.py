"""What building and running a candidate came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ansorbench.records import TrialStatus

if TYPE_CHECKING:
    from pytest_ansorbench.measure.kernel import Kernel


@dataclass(frozen=True)
class Built:
    """A candidate after the build phase.

    Attributes:
        status: `ok`, `build-error` or `build-timeout`.
        kernel: The compiled candidate in a process of its own; None unless `ok`.
        build_s: Seconds from fork to machine code.
        error: First line of the failure; empty if `ok`.
        peak_memory_mb: Peak memory of a process that ended in failure; 0 if `ok`.
    """

    status: TrialStatus
    kernel: Kernel | None
    build_s: float
    error: str = ""
    peak_memory_mb: float = 0.0


@dataclass(frozen=True)
class Measured:
    """A candidate after the run phase.

    Attributes:
        status: `ok`, or what went wrong in building or running.
        latencies_s: Seconds per kernel call, one entry a sample; empty unless `ok`.
        error: First line of the failure; empty if `ok`.
        build_s: Seconds it took to compile.
        run_s: Seconds it took to measure and check; 0 if it did not get that far.
        peak_memory_mb: Peak memory of its process.
    """

    status: TrialStatus
    latencies_s: tuple[float, ...] = ()
    error: str = ""
    build_s: float = 0.0
    run_s: float = 0.0
    peak_memory_mb: float = 0.0
