"""What building and running a program came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ansorbench.records import Remeasurement, TrialStatus

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.checking import Arrays


@dataclass(frozen=True)
class Built:
    """A program after the build phase."""

    status: TrialStatus  # `ok`, `build-error` or `build-timeout`
    build_s: float  # until there was machine code, or none
    error: str = ""  # first line of the failure
    peak_memory_mb: float = 0.0  # of a process that ended in failure
    handle: Any = None  # the engine's own hold on the compiled program; None unless `ok`
    was_killed: bool = False  # its process, by somebody else than the engine


@dataclass(frozen=True)
class Measured:
    """A program after the run phase."""

    status: TrialStatus
    latencies_s: tuple[float, ...] = ()  # of a call, one entry a sample; empty unless `ok`
    error: str = ""  # first line of the failure
    build_s: float = 0.0
    run_s: float = 0.0  # to measure and check
    peak_memory_mb: float = 0.0
    kept: Built | None = None
    """The program, which took the lead and waits to be an incumbent until it is discarded; None if
    it did not, or the measurement policy compares nothing."""
    lost_incumbent: bool = False
    """Whether the incumbent could not be run, so that another one is needed."""
    was_killed: bool = False
    """Whether somebody else than the engine has killed its process."""

    @classmethod
    def not_run(cls, built: Built) -> Measured:
        """The outcome of a program that failed to compile."""
        return cls(
            built.status,
            error=built.error,
            build_s=built.build_s,
            peak_memory_mb=built.peak_memory_mb,
            was_killed=built.was_killed,
        )


@dataclass(frozen=True, eq=False)
class Computed:
    """What a program makes of the inputs of a check."""

    given: Arrays  # its outputs
    fresh: Arrays  # those of the fresh inputs; nothing if there are none
    call_s: float  # seconds of its first call, lazy parts and cold caches included


@dataclass(frozen=True)
class AfterSet:
    """Programs that are measured side by side, after a set of processes."""

    outcomes: Sequence[Remeasurement]  # of all sets so far, one a program, in order
    elapsed_s: float  # of all sets so far
