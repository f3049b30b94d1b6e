"""What rebuilding saved kernels leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_ansorbench.records.noise import NoiseTrace
from pytest_ansorbench.records.runs import Remeasurement
from pytest_ansorbench.records.verdicts import Estimate, Gate, Outcome, worst

RECORDED: Final = "recorded"
"""In place of a toolchain's name: the latencies that the result recorded."""


@dataclass(frozen=True, slots=True)
class KernelSide:
    """A saved kernel as one toolchain made it.

    Attributes:
        toolchain: The toolchain's name; `RECORDED` for what a result recorded.
        measured: Its measurement, or what went wrong. A schedule that does not apply is a
            `build-error`.
        build_s: Seconds to compile it, one entry a set of processes; none if not known.
        code_bytes: Size of its object file; None if not known.
    """

    toolchain: str
    measured: Remeasurement
    build_s: tuple[float, ...] = ()
    code_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RebuiltKernel:
    """One saved schedule, made into kernels again.

    Attributes:
        case: The case's id.
        task: Name of the task.
        place: Its place in the case, from 0.
        tasks: How many tasks the case has in the result.
        strategy: The arm that found the schedule, that of the reference if they differ.
        seed: The run's seed.
        flops: Floating-point operations of one call.
        sides: What it was made into, the reference first.
    """

    case: str
    task: str
    place: int
    tasks: int
    strategy: str
    seed: int
    flops: int
    sides: tuple[KernelSide, ...]

    @property
    def name(self) -> str:
        """The case's id; of a case of several tasks, with the task's number, from 0."""
        return self.case if self.tasks == 1 else f"{self.case}#{self.place}"


@dataclass(frozen=True, slots=True)
class RebuiltKernels:
    """All kernels of a result that were made again.

    Attributes:
        created: UTC time of the start, ISO 8601.
        toolchains: By name, what they are: settings, machine, target and packages.
        kernels: The kernels.
        noise_then: How fast a fixed kernel was when the result was measured; none if latencies
            were not compared with recorded ones, or that was not recorded.
        noise_now: The same now.
    """

    created: str
    toolchains: Mapping[str, Any]
    kernels: tuple[RebuiltKernel, ...]
    noise_then: tuple[NoiseTrace, ...] = ()
    noise_now: tuple[NoiseTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelVerdict:
    """How one toolchain's kernel compares with the reference's.

    Attributes:
        kernel: The kernel's name.
        toolchain: The toolchain's.
        ratio: Throughput, over that of the reference.
        gate: Whether it keeps the limit; None without a limit, and where the reference failed.
    """

    kernel: str
    toolchain: str
    ratio: Estimate
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class KernelsVerdict:
    """How one toolchain compares with the reference over all kernels.

    Attributes:
        toolchain: Its name.
        reference: The reference's.
        kernels: Each kernel's verdict.
        ratio: Geometric mean of the kernels' throughput ratios.
        gate: Whether it keeps the suite's limit; None without a limit.
    """

    toolchain: str
    reference: str
    kernels: tuple[KernelVerdict, ...]
    ratio: Estimate
    gate: Gate | None = None

    @property
    def gates(self) -> tuple[Gate, ...]:
        """Those of the kernels, then that of the suite."""
        every = (*(verdict.gate for verdict in self.kernels), self.gate)
        return tuple(gate for gate in every if gate is not None)

    @property
    def outcome(self) -> Outcome | None:
        """The worst of all gates; None without one."""
        return worst(self.gates)
