"""TVM's own code before anything is tuned, and by the first candidate of its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import Implementation, ReferenceKernel

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Check

_EFFORT: Final = SideBySide(precision=0.0, turns=Span(3, 20), sets=Span(1, 1), most_s=5.0)


def own_kernel(
    implementation: Implementation, engine: Engine, program: Program, check: Check | None
) -> ReferenceKernel:
    """Time a kernel or a whole network of TVM's that no search made, by a started engine."""
    [measured] = engine.measure_side_by_side([program], check, _EFFORT)
    return ReferenceKernel(
        implementation,
        tvm_version(engine),
        measured.latencies_s,
        "" if measured.status == "ok" else measured.error or measured.status,
    )


def tvm_version(engine: Engine) -> str:
    """The version of TVM that compiles; empty if it was not installed as a package."""
    packages = engine.machine.get("packages") or {}
    return str(packages.get("apache-tvm") or "")
