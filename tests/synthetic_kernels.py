"""Kernels made again, out of numbers: for judging and reporting without a measurement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_ansorbench.records import Remeasurement
from pytest_ansorbench.records.rebuilt_kernels import KernelSide, RebuiltKernel, RebuiltKernels

SETS, TURNS = 6, 15


def rebuilt(
    ratios: Sequence[float],
    *,
    names: tuple[str, str] = ("against", "today"),
    scatter: float = 0.01,
    seed: int = 0,
) -> RebuiltKernels:
    """Kernels whose throughput under the second name is `ratios` times that under the first.

    Args:
        ratios: True ratios, one a kernel.
        names: Of the toolchains.
        scatter: Standard deviation of what belongs to a set of processes.
        seed: Of the noise.
    """
    rng = np.random.default_rng(seed)
    kernels = []
    for number, ratio in enumerate(ratios):
        latency_s = 1e-3 * (1 + number)
        sides = (
            side(names[0], latency_s, rng, scatter),
            side(names[1], latency_s / ratio, rng, scatter),
        )
        kernels.append(kernel(f"case{number}", sides))
    toolchains = {
        name: {"python": "3.12.1", "packages": {"apache-tvm": "0.27.0"}, "changes": {}}
        for name in names
    }
    return RebuiltKernels("2026-11-23T00:00:00+00:00", toolchains, tuple(kernels))


def kernel(case: str, sides: tuple[KernelSide, ...]) -> RebuiltKernel:
    """A kernel of an operator."""
    return RebuiltKernel(case, "main", 0, 1, "default", 0, 2_000_000, sides)


def side(name: str, latency_s: float, rng: np.random.Generator, scatter: float) -> KernelSide:
    """A kernel as one toolchain made it."""
    of_sets = np.repeat(rng.normal(0.0, scatter, SETS), TURNS)
    latencies_s = latency_s * np.exp(of_sets + rng.normal(0.0, 0.02, SETS * TURNS))
    sets = tuple(int(number) for number in np.repeat(np.arange(SETS), TURNS))
    measured = Remeasurement(None, "ok", tuple(latencies_s.tolist()), "", sets, ())
    return KernelSide(name, measured, (0.5,) * SETS, 12_345)


def failed(name: str, error: str = "PackedError: its trace does not fit") -> KernelSide:
    """A kernel that a toolchain could not make."""
    return KernelSide(name, Remeasurement(None, "build-error", (), error))
