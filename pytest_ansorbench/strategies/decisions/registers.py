"""The vector registers of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.environment import triple_of
from pytest_ansorbench.records.checks import check

if TYPE_CHECKING:
    from tvm.target import Target

_MOST: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Registers:
    """Vector registers of a CPU."""

    vector_bytes: int  # of one
    count: int

    def __post_init__(self) -> None:
        for name in ("vector_bytes", "count"):
            fits = 1 <= getattr(self, name) <= _MOST
            check(fits, name, getattr(self, name), f"from 1 to {_MOST}")


# By the feature of the CPU, best first.
_OF_X86: Final = {"avx512f": Registers(64, 32), "avx": Registers(32, 16)}
# Those of any other x86.
_OF_ANY_X86: Final = Registers(16, 16)
# Vector registers of other architectures that TVM knows vectors of.
_COUNT: Final = 32


def registers_of(target: Target) -> Registers | None:
    """Those of an LLVM target; None for any other.

    TVM's `llvm_get_vector_width` says 512 bits for every x86, so these are told by their features.
    """
    from tvm.target.codegen import llvm_get_cpu_features, llvm_get_vector_width

    if str(target.kind.name) != "llvm":
        return None
    if "x86" not in triple_of(target):
        return Registers(max(1, int(llvm_get_vector_width(target)) // 8), _COUNT)
    features = {str(one) for one in llvm_get_cpu_features(target)}
    return next((found for name, found in _OF_X86.items() if name in features), _OF_ANY_X86)
