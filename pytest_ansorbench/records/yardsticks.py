"""Baselines of kernels besides each other: the machine's peak, other implementations."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from pytest_ansorbench.records.checks import LATENCIES, are_latencies, ascend, check

Implementation = Literal[
    "torch", "torch-compile", "onnxruntime", "openvino", "numpy", "untuned", "first"
]
IMPLEMENTATIONS: Final[tuple[Implementation, ...]] = get_args(Implementation)
PEERS: Final = tuple(one for one in IMPLEMENTATIONS if one not in ("untuned", "first"))
"""Other libraries, which are measured in turn with the arms; the rest are TVM's own programs."""

Operands = Literal["float32", "int8"]
"""What is multiplied: 32-bit floats, or bytes whose products are added in 32 bits."""

_MOST: Final = 10**18
"""Of bytes, and of what is done in a second."""


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
        compute_gflops: Multiply-adds from registers, on all cores; two operations each.
        bandwidths: By ascending size, at least one.
        operands: What is multiplied.
    """

    measured: str
    compute_gflops: float
    bandwidths: tuple[Bandwidth, ...]
    operands: Operands = field(default="float32", metadata={"since": 14})

    def __post_init__(self) -> None:
        sizes = [one.working_set_bytes for one in self.bandwidths]
        fits = bool(sizes) and 1 <= sizes[0] <= sizes[-1] <= _MOST and ascend(sizes)
        check(fits, "bandwidths", self.bandwidths, "at least one, by ascending size")
        speeds = [self.compute_gflops, *(one.gbytes_per_s for one in self.bandwidths)]
        check(0.0 < min(speeds) <= max(speeds) <= _MOST, "", self, "nothing but what is above 0")


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

    def __post_init__(self) -> None:
        samples = self.latencies_s
        check(are_latencies(samples), "latencies_s", samples, LATENCIES)
        expected = "at least one sample where there is no error"
        check(bool(samples or self.error), "latencies_s", samples, expected)

    @property
    def latency_s(self) -> float | None:
        """Median of the samples; None without any."""
        return statistics.median(self.latencies_s) if self.latencies_s else None


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """The baselines of the kernels of a case on one machine.

    Attributes:
        machine: The machine, a key of the result's `machines`.
        argument_bytes: Bytes of all arguments of the case, each counted once, an operator's without
            rows that no index chooses: what has to be read or written at least.
        peak: What the machine can do; None if that was not measured.
        kernels: Other implementations that were asked for.
    """

    machine: str
    argument_bytes: int
    peak: MachinePeak | None
    kernels: tuple[ReferenceKernel, ...] = ()

    def __post_init__(self) -> None:
        fits, expected = 0 <= self.argument_bytes <= _MOST, f"from 0 to {_MOST:.0e}"
        check(fits, "argument_bytes", self.argument_bytes, expected)
