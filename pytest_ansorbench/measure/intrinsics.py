"""Makes the target's tensor intrinsics known to TVM without parsing everybody else's.

`import tvm.s_tir.tensor_intrin` parses the TVMScript of every CUDA, ROCm and Hexagon
intrinsic: 15 s of CPU time, paid by each process that makes a `TuneContext`. The x86 part
alone takes 0.2 s. `register_intrinsics` puts a package in its place that imports its
submodules on demand, and imports the one that the target's schedule rules refer to by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Final

from pytest_ansorbench.environment import triple_of
from pytest_ansorbench.measure.vnni import mend_vnni

if TYPE_CHECKING:
    from tvm.target import Target

_PACKAGE: Final = "tvm.s_tir.tensor_intrin"
_SUBMODULE_BY_TRIPLE: Final = {
    "x86_64": "x86",
    "i386": "x86",
    "i686": "x86",
    "aarch64": "arm_cpu",
    "arm": "arm_cpu",
    "riscv64": "riscv_cpu",
}


def register_intrinsics(target: Target) -> None:
    """Register the tensor intrinsics that schedule rules for `target` may name.

    Those of its architecture, if that is known; else all of them.
    """
    _import_intrinsics(target)
    _mend_imported()


def _import_intrinsics(target: Target) -> None:
    submodule = _submodule(target)
    if _PACKAGE not in sys.modules:
        if submodule is None:
            importlib.import_module(_PACKAGE)
            return
        _install_lazy_package()
    if isinstance(sys.modules[_PACKAGE], _LazyPackage):
        names = [submodule] if submodule else ["cuda", *set(_SUBMODULE_BY_TRIPLE.values())]
        for name in names:
            importlib.import_module(f"{_PACKAGE}.{name}")


def register_named(name: str) -> None:
    """Register the tensor intrinsic that a recorded schedule names, if TVM has it."""
    from tvm.s_tir import TensorIntrin

    if _PACKAGE not in sys.modules:
        _install_lazy_package()
    for submodule in (*dict.fromkeys(_SUBMODULE_BY_TRIPLE.values()), "cuda"):
        if TensorIntrin.get(name, allow_missing=True) is None:
            importlib.import_module(f"{_PACKAGE}.{submodule}")
    _mend_imported()


def _mend_imported() -> None:
    if f"{_PACKAGE}.x86" in sys.modules:
        mend_vnni()


class _LazyPackage(ModuleType):
    """Stands in for the package; an attribute that is a submodule is imported when asked for."""

    def __getattr__(self, name: str) -> ModuleType:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return importlib.import_module(f"{self.__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from error


def _submodule(target: Target) -> str | None:
    if target.kind.name != "llvm":
        return "cuda" if target.kind.name == "cuda" else None
    return _SUBMODULE_BY_TRIPLE.get(triple_of(target).split("-")[0])


def _install_lazy_package() -> None:
    parent = importlib.import_module(_PACKAGE.rpartition(".")[0])
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        return  # A TVM that keeps its intrinsics elsewhere imports them itself.
    package = _LazyPackage(_PACKAGE)
    package.__path__ = list(spec.submodule_search_locations)
    package.__spec__ = spec
    sys.modules[_PACKAGE] = package
    parent.tensor_intrin = package  # type: ignore[attr-defined]
