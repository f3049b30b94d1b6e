"""Saved schedules made into kernels again, by one toolchain or several, without a search."""

from pytest_ansorbench.kernels.rebuilding import (
    AnotherMachineError,
    Rebuilding,
    fastest,
    fastest_of_arms,
)

__all__ = [
    "AnotherMachineError",
    "Rebuilding",
    "fastest",
    "fastest_of_arms",
]
