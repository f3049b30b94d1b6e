"""Saved schedules made into kernels again, by one toolchain or several, without a search."""

from pytest_ansorbench.kernels.compare import Toolchains, compare_kernels
from pytest_ansorbench.kernels.fastest import fastest, fastest_of_arms
from pytest_ansorbench.kernels.then import another_machine, steady_then

__all__ = [
    "Toolchains",
    "another_machine",
    "compare_kernels",
    "fastest",
    "fastest_of_arms",
    "steady_then",
]
