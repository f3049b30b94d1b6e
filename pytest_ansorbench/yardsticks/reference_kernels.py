"""Kernels to compare with: TVM's own code before anything is tuned, and other libraries'.

A library's kernel is timed in a process that does not import TVM.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Literal

from numpy.typing import NDArray

from pytest_ansorbench.measure.program import Program
from pytest_ansorbench.measure.side_by_side import SideBySide, Span
from pytest_ansorbench.records import ReferenceKernel
from pytest_ansorbench.workloads.definition import definition_of

if TYPE_CHECKING:
    from pytest_ansorbench.measure.engine import Engine
    from pytest_ansorbench.workloads.case import Case, Check
    from pytest_ansorbench.workloads.operator import Operator

Library = Literal["torch", "numpy"]

_MAIN: Final = "pytest_ansorbench.yardsticks.library_main"
_TIMEOUT_S: Final = 120.0
"""Importing PyTorch takes seconds, a slow kernel takes ten."""
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_EFFORT: Final = SideBySide(precision=0.0, turns=Span(3, 20), sets=Span(1, 1), most_s=5.0)


class NoKernel(Exception):
    """A library has no kernel of an operator, or a wrong one; the message says which."""


@dataclass(frozen=True)
class LibraryKernel:
    """An operator as a library computes it, on inputs that are in place."""

    call: Callable[[], Any]
    """Computes the output, in the library's own type and layout."""
    output: Callable[[Any], NDArray[Any]]
    """Makes of that the output as the operator has it."""


def require_types(operator: Operator, library: str, *dtypes: str) -> None:
    """Check that a library computes an operator in its data types: NoKernel if not."""
    if not {*operator.input_dtypes} <= {*dtypes}:
        kinds = " * ".join(dict.fromkeys(operator.input_dtypes))
        raise NoKernel(f"{library} has no kernel of {type(operator).__name__} in {kinds}")


def library_kernel(
    library: Library, case: Case, threads: int, cores: Sequence[int] | None = None
) -> ReferenceKernel:
    """Latencies of a library's kernel of an operator, or why not.

    Inputs are in the layout that the library likes best; bringing them there does not count.
    """
    asked = {
        "library": library,
        "case": case.id,
        "definition": definition_of(case),
        "threads": threads,
        "cores": cores and [*cores],
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", _MAIN],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            env={
                **os.environ,
                "PYTHONWARNINGS": "ignore",  # a library's are not the user's
                **dict.fromkeys(_THREADS, str(threads)),
            },
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ReferenceKernel(library, "", (), f"not done after {_TIMEOUT_S:g} s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return ReferenceKernel(library, "", (), last[0])
    answer = json.loads(done.stdout)
    return ReferenceKernel(
        library, answer["version"], tuple(answer["latencies_s"]), answer["error"]
    )


def untuned_kernel(engine: Engine, program: Program, check: Check | None) -> ReferenceKernel:
    """Time a kernel or a whole network that no schedule was applied to, by a started engine."""
    [measured] = engine.measure_side_by_side([program], check, _EFFORT)
    return ReferenceKernel(
        "untuned",
        metadata.version("apache-tvm"),
        measured.latencies_s,
        "" if measured.status == "ok" else measured.error or measured.status,
    )
