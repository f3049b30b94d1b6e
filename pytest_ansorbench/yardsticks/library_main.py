"""Times one kernel of one library: a request on standard input, the answer on standard output.

Started as `python -m pytest_ansorbench.yardsticks.library_main`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any, Final

from pytest_ansorbench.measure.arguments import mismatch
from pytest_ansorbench.measure.local.interpreter import end_with_parent
from pytest_ansorbench.workloads.definition import made
from pytest_ansorbench.workloads.operator import Operator
from pytest_ansorbench.yardsticks.reference_kernels import LibraryKernel, NoKernel

_WARM_S: Final = 0.2
_SAMPLE_S: Final = 0.01
_SAMPLES: Final = 30
_MOST_S: Final = 10.0


def main() -> None:
    """Answer one request, for as long as somebody waits for the answer."""
    end_with_parent()
    sys.stdout.write(json.dumps(answer(json.loads(sys.stdin.read()))))


def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Time the kernel that `library_kernel` asks for."""
    if asked["cores"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, asked["cores"])
    library = str(asked["library"])
    try:
        version = metadata.version(library)
        kernels = importlib.import_module(f"pytest_ansorbench.yardsticks.{library}_kernels")
    except ImportError:
        return _failed("", f"{library} is not installed")
    try:
        operator = _operator(asked["case"], asked["definition"])
        kernel = _checked(operator, kernels.kernel(operator, int(asked["threads"])))
    except NoKernel as reason:
        return _failed(version, str(reason))
    return {"version": version, "latencies_s": _timed(kernel.call), "error": ""}


def _operator(name: str, definition: Mapping[str, Any] | None) -> Operator:
    case = None if definition is None else made(definition)
    if not isinstance(case, Operator):
        raise NoKernel(f"{name} is no operator that ships with the package")
    return case


def _checked(operator: Operator, kernel: LibraryKernel) -> LibraryKernel:
    """The kernel, if its output is what the operator's should be."""
    if mismatch((kernel.output(kernel.call()),), operator.check()):
        raise NoKernel("its output is not that of the operator")
    return kernel


def _failed(version: str, why: str) -> dict[str, Any]:
    return {"version": version, "latencies_s": [], "error": why}


def _timed(call: Callable[[], object]) -> list[float]:
    """Seconds a call, with warm caches: up to 30 samples of at least 10 ms."""
    started_s = time.perf_counter()
    warm = 0
    while not warm or time.perf_counter() - started_s < _WARM_S:
        call()
        warm += 1
    calls = max(1, round(_SAMPLE_S * warm / (time.perf_counter() - started_s)))
    latencies_s: list[float] = []
    started_s = time.perf_counter()
    while len(latencies_s) < _SAMPLES and time.perf_counter() - started_s < _MOST_S:
        sample_s = time.perf_counter()
        for _ in range(calls):
            call()
        latencies_s.append((time.perf_counter() - sample_s) / calls)
    return latencies_s


if __name__ == "__main__":
    main()
