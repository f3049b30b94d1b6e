"""Saved schedules made into kernels again, by one toolchain or several, without a search."""

from pytest_ansorbench.kernels.rebuilding import (
    NoReferenceError,
    Rebuilding,
    TargetsError,
    fastest,
    fastest_of_arms,
)

__all__ = [
    "NoReferenceError",
    "Rebuilding",
    "TargetsError",
    "fastest",
    "fastest_of_arms",
]
