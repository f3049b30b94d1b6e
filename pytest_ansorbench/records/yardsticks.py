"""What kernels are held against besides each other: the machine's peak, other implementations."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Final, Literal, get_args

Implementation = Literal["torch", "numpy", "untuned"]
IMPLEMENTATIONS: Final[tuple[Implementation, ...]] = get_args(Implementation)


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """How fast a machine reads data of one size over and over, all cores together.

    Attributes:
        level: The smallest level of caches that holds the data of all cores, e.g. `L2`, or
            `memory`; empty if the sizes of its caches are not known.
        working_set_bytes: Bytes that all cores together read over and over, each its share.
        gbytes_per_s: 10^9 bytes a second.
    """

    level: str
    working_set_bytes: int
    gbytes_per_s: float


@dataclass(frozen=True, slots=True)
class MachinePeak:
    """What a machine can do at most, as measured: the two parts of a roofline.

    Attributes:
        measured: UTC time, ISO 8601.
        compute_gflops: Fused multiply-adds of 32-bit floats from registers, on all cores.
        bandwidths: By ascending size, at least one.
    """

    measured: str
    compute_gflops: float
    bandwidths: tuple[Bandwidth, ...]


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """Another implementation of a case, timed on the machine that searches.

    Attributes:
        implementation: Whose it is.
        version: Version of the library, or of TVM.
        latencies_s: Seconds a call, one entry a sample; empty if it could not be timed.
        error: Why it could not; empty if it could.
    """

    implementation: Implementation
    version: str
    latencies_s: tuple[float, ...]
    error: str = ""

    @property
    def latency_s(self) -> float | None:
        """Median of the samples; None without any."""
        return statistics.median(self.latencies_s) if self.latencies_s else None


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """All that the kernels of a case are held against on one machine.

    Attributes:
        machine: The machine, a key of the result's `machines`.
        argument_bytes: Bytes of all arguments of the case, each counted once: what has to be read
            or written at least.
        peak: What the machine can do; None if that was not measured.
        kernels: Other implementations that were asked for.
    """

    machine: str
    argument_bytes: int
    peak: MachinePeak | None
    kernels: tuple[ReferenceKernel, ...] = ()
