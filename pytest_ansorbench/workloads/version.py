"""When a case is still the same case: the version of its programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ansorbench.workloads.case import Case, Task


def case_version(case: Case, tasks: Sequence[Task]) -> str:
    """Tell versions of a case apart: what was measured on another program is no baseline.

    The version covers each task's program, as TVM hashes its structure, with weight and FLOP
    count. A case may say otherwise: if it has a `version`, that counts instead, e.g. where a new
    TVM lowers the same expression to another program.

    Args:
        case: The case.
        tasks: Its tasks.

    Returns:
        Twelve hexadecimal digits, or what the case says.
    """
    from tvm_ffi import structural_hash

    said = getattr(case, "version", None)
    if said is not None:
        return str(said)
    parts = [[structural_hash(task.mod), task.weight, task.flops] for task in tasks]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
