"""Saved schedules made into kernels again, by one toolchain or several, without a search."""

from pytest_ansorbench.kernels.rebuilding import (
    AnotherMachineError,
    Rebuilding,
    another_machine,
    compare_kernels,
    fastest,
    fastest_of_arms,
    noise_then,
)

__all__ = [
    "AnotherMachineError",
    "Rebuilding",
    "another_machine",
    "compare_kernels",
    "fastest",
    "fastest_of_arms",
    "noise_then",
]
