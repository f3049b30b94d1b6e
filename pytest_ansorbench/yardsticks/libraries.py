"""Kernels of other libraries, timed in a process that imports nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, Literal

from pytest_ansorbench.records import ReferenceKernel

Library = Literal["torch", "numpy"]

_MAIN: Final = "pytest_ansorbench.yardsticks.library_main"
_TIMEOUT_S: Final = 120.0
"""Importing PyTorch takes seconds, a slow kernel takes ten."""
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def library_kernel(
    library: Library, case: str, threads: int, cores: Sequence[int] | None = None
) -> ReferenceKernel:
    """Time a library's kernel of an operator that ships with the package.

    Its output is compared with the operator's reference first. Inputs are in the layout that the
    library likes best; bringing them there does not count.

    Args:
        library: Whose kernel.
        case: The operator's id.
        threads: Threads that it runs on.
        cores: Cores that it may run on; None for any.

    Returns:
        Its latencies, or why there are none.
    """
    asked = {"library": library, "case": case, "threads": threads, "cores": cores and [*cores]}
    try:
        done = subprocess.run(
            [sys.executable, "-m", _MAIN],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            env={**os.environ, **dict.fromkeys(_THREADS, str(threads))},
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
